import type { Socket } from 'node:net';
import { Agent, buildConnector } from 'undici';
import { measureConnect, noteConnected } from '../delivery/connection-times.ts';
import type { Egress } from './egress.ts';
import { BlockedAddressError, blockedBy } from './guard.ts';
import { createGuardedLookup } from './lookup.ts';
import type { EgressProxy } from './proxy-choice.ts';
import { openTunnel, type Tunnel } from './tunnel.ts';

export interface GuardedAgentOptions {
  readonly egress: Egress;
  /** Certificate authorities that are trusted instead of Node's. */
  readonly ca?: string | readonly string[];
  /** What is shown to endpoints that ask for a certificate; PEM. */
  readonly client?: { readonly cert: string; readonly key: string };
}

const connectTimeoutMs = 5_000;

/**
 * An HTTP client that dials permitted addresses only (invariant 5): a name is resolved here, once, and what was checked is
 * what is dialled, so that a second answer of DNS can't change it; literals, schemes, ports and local names are checked
 * beside, and so is the peer of the socket. Redirects are not followed.
 *
 * With an egress proxy it is the proxy that resolves, dials and guards what it dials; what shows without DNS is checked
 * here all the same. TLS is with the endpoint, through the proxy.
 */
export function createGuardedAgent({ egress, ca, client }: GuardedAgentOptions): Agent {
  const { guard, resolve, proxyFor } = egress;
  const dial = buildConnector({
    timeout: connectTimeoutMs,
    allowH2: false,
    autoSelectFamily: true,
    minVersion: 'TLSv1.2',
    rejectUnauthorized: true,
    ...(ca ? { ca } : {}),
    ...client,
    lookup: createGuardedLookup(guard, resolve),
  } as buildConnector.BuildOptions);

  const connectDirectly: buildConnector.connector = (target, callback) => {
    const measured = measureConnect();
    const dialled = dial(target, (error, socket) => {
      if (error || !socket) return callback(error ?? new Error('no socket'), null);
      const peer = socket.remoteAddress;
      if (!peer || !guard.permitted(peer)) {
        socket.destroy();
        return callback(new BlockedAddressError('connected to an address that is not public'), null);
      }
      noteConnected(socket, measured.times(), peer);
      callback(null, socket);
    });
    measured.watch(dialled as unknown as Socket | undefined);
  };

  const connectThrough = (proxy: EgressProxy, ...[target, callback]: Parameters<buildConnector.connector>) => {
    const measured = measureConnect();
    const opened = ({ socket: tunnel, address }: Tunnel) => {
      measured.tunnelled();
      const done = (socket: Socket) => {
        noteConnected(socket, measured.times(), address);
        callback(null, socket);
      };
      if (target.protocol !== 'https:') return done(tunnel);
      dial({ ...target, httpSocket: tunnel }, (error, socket) => {
        if (socket) return done(socket);
        tunnel.destroy();
        callback(error ?? new Error('no socket'), null);
      });
    };
    openTunnel(proxy, target, { timeoutMs: connectTimeoutMs, ca }).then(opened, (error: Error) =>
      callback(error, null),
    );
  };

  return new Agent({
    // As many as there are attempts under way: webhooks that share an origin do not wait for each other.
    connections: null,
    pipelining: 1,
    keepAliveTimeout: 10_000,
    keepAliveMaxTimeout: 60_000,
    connect(target, callback) {
      const refusal = guard.refusal(target);
      if (refusal) return callback(blockedBy(refusal, target), null);
      const proxy = proxyFor(target);
      if (proxy) connectThrough(proxy, target, callback);
      else connectDirectly(target, callback);
    },
  });
}
