import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { measureConnect, noteConnected } from '../delivery/connection-times.ts';
import { dial } from './dial.ts';
import type { Egress } from './egress.ts';
import { blockedBy } from './guard.ts';
import { createGuardedLookup } from './lookup.ts';
import { OriginPools } from './origin-pools.ts';
import type { EgressProxy } from './proxy-choice.ts';
import { openTunnel } from './tunnel.ts';

export interface GuardedAgentOptions {
  readonly egress: Egress;
  /** Certificate authorities that are trusted instead of Node's. */
  readonly ca?: string | readonly string[];
  /** What is shown to endpoints that ask for a certificate; PEM. */
  readonly client?: { readonly cert: string; readonly key: string };
}

type Target = buildConnector.Options;

/** For the connection, and as long again for TLS. */
const connectTimeoutMs = 5_000;

/**
 * An HTTP client that dials permitted addresses only (invariant 5): a name is resolved here, once, and what was checked is
 * what is dialled, so that a second answer of DNS can't change it; literals, schemes, ports and local names are checked
 * beside, and so is the peer of the socket. Redirects are not followed.
 *
 * With an egress proxy it is the proxy that resolves, dials and guards what it dials; what shows without DNS is checked
 * here all the same. TLS is with the endpoint, through the proxy.
 */
export function createGuardedAgent({ egress, ca, client }: GuardedAgentOptions): OriginPools {
  const { guard, resolve, proxyFor } = egress;
  const lookup = createGuardedLookup(guard, resolve);
  const secure = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca ? { ca } : {}),
    ...client,
  } as buildConnector.BuildOptions);

  const connectDirectly = async (target: Target) => {
    const measured = measureConnect();
    const plain = await dial(target, { guard, lookup, timeoutMs: connectTimeoutMs, watch: measured.watch });
    const address = plain.remoteAddress;
    return { socket: await secured(target, plain), times: measured.times(), address };
  };

  const connectThrough = async (proxy: EgressProxy, target: Target) => {
    const refusal = guard.refusal(target);
    if (refusal) throw blockedBy(refusal, target);
    const measured = measureConnect();
    const { socket: tunnel, address } = await openTunnel(proxy, target, { timeoutMs: connectTimeoutMs, ca });
    measured.tunnelled();
    return { socket: await secured(target, tunnel), times: measured.times(), address };
  };

  /** With TLS if the URL wants it. */
  const secured = (target: Target, plain: Socket) =>
    target.protocol === 'https:'
      ? new Promise<Socket>((done, fail) => {
          secure({ ...target, httpSocket: plain }, (error, socket) => {
            if (socket) return done(socket);
            plain.destroy();
            fail(error ?? new Error('no socket'));
          });
        })
      : plain;

  return new OriginPools({
    // As many as there are attempts under way: webhooks that share an origin do not wait for each other.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    keepAliveMaxTimeout: 60_000,
    connect(target, callback) {
      const proxy = proxyFor(target);
      const connected = proxy ? connectThrough(proxy, target) : connectDirectly(target);
      connected.then(
        ({ socket, times, address }) => {
          noteConnected(socket, times, address);
          callback(null, socket);
        },
        (error: Error) => callback(error, null),
      );
    },
  });
}
