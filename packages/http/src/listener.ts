import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from '@rms/service';
import { limitConnections } from './connections.ts';
import { refuseMalformed } from './malformed.ts';

/** Why a connection or what came on it never became a request. */
export type ConnectionRefusal = 'malformed' | 'too_many_connections';

/** An HTTP server of ours. */
export interface Listener {
  /** "http://127.0.0.1:8080", with the port that was bound. */
  readonly address: string;
  /** Connections that are open. */
  connections(): number;
  /** Takes no more connections, waits for the requests under way, at most so long. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly handle: RequestListener;
  readonly maxConnections: number;
  readonly log: Logger;
  /** Told of what never becomes a request. */
  readonly onRefused: (reason: ConnectionRefusal) => void;
  readonly times?: Partial<Times>;
}

/** How long a client may take, in milliseconds. */
interface Times {
  /** To send the head of a request; also from the connection to the first one. */
  readonly headersMs: number;
  /** To send a whole request. */
  readonly requestMs: number;
  /** To read an answer, or the next part of it. */
  readonly unreadMs: number;
  /** Between an answer and the next request. */
  readonly idleMs: number;
  /** How often all that is checked. */
  readonly checkEveryMs: number;
}

const defaultTimes: Times = {
  headersMs: 10_000,
  requestMs: 30_000,
  unreadMs: 60_000,
  // Longer than load balancers keep theirs, so that it is they who close an idle connection.
  idleMs: 75_000,
  checkEveryMs: 2_000,
};
const maxHeaderBytes = 16 * 1024;
const closeIdleEveryMs = 50;

/** Listens. Rejects with EADDRINUSE and the like if it can't. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, handle, maxConnections, log, onRefused, times } = options;
  const { headersMs, requestMs, unreadMs, idleMs, checkEveryMs } = { ...defaultTimes, ...times };
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    keepAliveTimeout: idleMs,
    connectionsCheckingInterval: checkEveryMs,
    // Checked by the app, whose answer has a request id.
    requireHostHeader: false,
  });
  // None is dropped in silence: the app refuses too many, and the size of all is limited.
  server.maxHeadersCount = 0;
  const connections = limitConnections(server, { maxConnections, unreadMs, sweepMs: checkEveryMs }, log);
  server.on('request', handle);
  // "Expect: 100-continue" is answered when the body is wanted; other expectations are not ours to meet.
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  refuseMalformed(server, connections, () => onRefused('malformed'));
  server.on('drop', () => onRefused('too_many_connections'));
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return {
    address: `http://${name}:${bound.port}`,
    connections: connections.count,
    stop: (graceMs) => stop(server, graceMs),
  };
}

async function stop(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // Connections become idle one by one, as their requests are answered.
  const closeIdle = setInterval(() => server.closeIdleConnections(), closeIdleEveryMs);
  const force = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(closeIdle);
  clearTimeout(force);
}
