import { isIP, type LookupFunction, type Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { measureConnect, noteConnected } from '../delivery/connection-times.ts';
import type { Resolve } from './resolve.ts';

/** A call was refused because of where it would have gone. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'BLOCKED_ADDRESS';
}

export interface GuardedAgentOptions {
  readonly allowHttp: boolean;
  /** Whether an address may be reached. */
  readonly permitted: (address: string) => boolean;
  readonly resolve: Resolve;
  /** Certificate authorities that are trusted instead of Node's. */
  readonly ca?: string;
  /** What is shown to endpoints that ask for a certificate; PEM. */
  readonly client?: { readonly cert: string; readonly key: string };
}

const connectTimeoutMs = 5_000;

/**
 * An HTTP client that dials permitted addresses only (invariant 5): a name is resolved here, once, and what was checked is
 * what is dialled, so that a second answer of DNS can't change it; literals and schemes are checked beside, and so is the
 * peer of the socket. Redirects are not followed.
 */
export function createGuardedAgent(options: GuardedAgentOptions): Agent {
  const { allowHttp, permitted, resolve, ca, client } = options;

  const lookup: LookupFunction = (hostname, { all, family }, callback) => {
    resolve(hostname).then(
      (found) => {
        const addresses = hostname === 'localhost' ? found.filter(permitted) : found;
        const wanted = addresses.filter((address) => !family || isIP(address) === family);
        const [first] = wanted;
        if (!first) {
          const code = found.length > 0 ? 'BLOCKED_ADDRESS' : 'ENOTFOUND';
          return callback(Object.assign(new Error(`no address for ${hostname}`), { code }), '', 0);
        }
        // One bad answer spoils the name: mixed answers are an attack or a mistake.
        if (!addresses.every(permitted)) {
          return callback(new BlockedAddressError(`${hostname} resolves to an address that is not public`), '', 0);
        }
        const list = wanted.map((address) => ({ address, family: isIP(address) }));
        if (all) (callback as unknown as (error: null, addresses: typeof list) => void)(null, list);
        else callback(null, first, isIP(first));
      },
      (error: NodeJS.ErrnoException) => callback(error, '', 0),
    );
  };
  const dial = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    autoSelectFamily: true,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca ? { ca } : {}),
    ...client,
    lookup,
  } as buildConnector.BuildOptions);

  return new Agent({
    // As many as there are attempts under way: webhooks that share an origin do not wait for each other.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    keepAliveMaxTimeout: 60_000,
    connect(target, callback) {
      const host = target.hostname.replace(/^\[|\]$/g, '');
      if (target.protocol !== 'https:' && !(allowHttp && target.protocol === 'http:')) {
        return callback(new BlockedAddressError(`${target.protocol} is not allowed`), null);
      }
      // A literal address is dialled without a lookup.
      if (isIP(host) !== 0 && !permitted(host)) {
        return callback(new BlockedAddressError(`${host} is not a public address`), null);
      }
      const measured = measureConnect();
      const dialled = dial(target, (error, socket) => {
        if (error || !socket) return callback(error ?? new Error('no socket'), null);
        const peer = socket.remoteAddress;
        if (!peer || !permitted(peer)) {
          socket.destroy();
          return callback(new BlockedAddressError('connected to an address that is not public'), null);
        }
        noteConnected(socket, measured.times());
        callback(null, socket);
      });
      measured.watch(dialled as unknown as Socket | undefined);
    },
  });
}
