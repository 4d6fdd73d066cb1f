import type { Socket } from 'node:net';
import { buildConnector } from 'undici';
import { measureConnect, noteConnected } from './connection-times.ts';
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
  /** Client certificate for endpoints that request one; PEM. */
  readonly client?: { readonly cert: string; readonly key: string };
}

type Target = buildConnector.Options;

/** Timeout for the connection, and again for the TLS handshake. */
const connectTimeoutMs = 5_000;

/**
 * Creates an HTTP client that connects only to permitted addresses (invariant 5 in ARCHITECTURE.md). It resolves a name
 * once and dials the addresses that it checked, so that a changed DNS response cannot bypass the check. It also checks
 * IP literals, schemes, ports, local names, and the address of the connected socket. It does not follow redirects.
 *
 * With an egress proxy, the proxy resolves, checks and dials the address. Everything that can be checked without DNS is
 * still checked here. TLS runs end to end between this client and the endpoint.
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
    measured.tunneled();
    return { socket: await secured(target, tunnel), times: measured.times(), address };
  };

  /** Starts TLS on the socket if the target requires it. */
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
    // Not limited here, because the engine limits attempts. Webhooks that share an origin do not wait for each other.
    connections: null,
    // Otherwise requests to an https origin wait for the first handshake, to see whether it negotiates HTTP/2.
    allowH2: false,
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
