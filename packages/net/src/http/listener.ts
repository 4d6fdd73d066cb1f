import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CidrList } from '@rms/base/cidr';
import type { Logger } from '@rms/runtime/logging';
import { type Connections, limitConnections } from './connections.ts';
import { refuseMalformed } from './malformed.ts';

/** Reason why a connection was refused, or why its data was not accepted as a request. */
export type ConnectionRefusal = 'malformed' | 'too_many_connections' | 'too_many_of_address';

/** A running HTTP server. */
export interface Listener {
  /** "http://127.0.0.1:8080", with the bound port. */
  readonly address: string;
  /** Number of open connections. */
  connections(): number;
  /** Stops accepting connections and waits up to `graceMs` for requests in flight. */
  stop(graceMs: number): Promise<void>;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly handle: RequestListener;
  readonly maxConnections: number;
  /** Per client address; an IPv6 address counts as its /64. Trusted proxies are not limited. 0: no limit. */
  readonly maxConnectionsPerAddress: number;
  readonly trustedProxies: CidrList;
  /** Maximum size of the request line and the headers. */
  readonly maxHeadersKib: number;
  /** Returns a page in HTML for browsers with headers above this size; default: the usual error in JSON. */
  readonly headersPage?: (maxHeadersKib: number) => string;
  /** Time after a response until an idle connection is closed. */
  readonly keepAliveMs: number;
  readonly log: Logger;
  /** Called for every connection or malformed request that is refused. */
  readonly onRefused: (reason: ConnectionRefusal) => void;
  /** See {@link errorResponse}. */
  readonly catalogUrl?: string | undefined;
  readonly times?: Partial<Times>;
}

/** Time limits for clients, in milliseconds. */
interface Times {
  /** For a request's head, including the time from the connection to the first request. */
  readonly headersMs: number;
  /** For a whole request. */
  readonly requestMs: number;
  /** For reading a response, or the next part of it. */
  readonly unreadMs: number;
  /** How often the limits are checked. */
  readonly checkEveryMs: number;
}

const defaultTimes: Times = {
  headersMs: 10_000,
  requestMs: 30_000,
  unreadMs: 60_000,
  checkEveryMs: 2_000,
};
const closeIdleEveryMs = 50;

/** Starts listening. Rejects with the system error (EADDRINUSE and similar) if it cannot bind. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { host, port, handle, keepAliveMs, log, onRefused, catalogUrl, times } = options;
  const { maxConnections, maxConnectionsPerAddress, trustedProxies, maxHeadersKib, headersPage } = options;
  const { headersMs, requestMs, unreadMs, checkEveryMs } = { ...defaultTimes, ...times };
  const server = createServer({
    maxHeaderSize: maxHeadersKib * 1024,
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    // A load balancer must close idle connections first: it may send a request over a connection that is being closed.
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: checkEveryMs,
    // The app checks the header itself, because its error response has a request ID.
    requireHostHeader: false,
  });
  // 0: unlimited, so that Node drops no header silently. The app rejects too many headers; maxHeaderSize bounds their
  // size.
  server.maxHeadersCount = 0;
  const limits = { maxConnections, maxConnectionsPerAddress, trustedProxies, unreadMs, sweepMs: checkEveryMs };
  const connections = limitConnections(server, limits, { log, onRefused });
  server.on('request', handle);
  // The app sends "100 Continue" when it reads the body, and refuses other expectations.
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  refuseMalformed(server, connections, {
    onRefused: () => onRefused('malformed'),
    catalogUrl,
    limits: { maxHeadersKib, headersMs, requestMs },
    headersPage: headersPage?.(maxHeadersKib),
  });
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return {
    address: `http://${name}:${bound.port}`,
    connections: connections.count,
    stop: (graceMs) => stop(server, connections, graceMs),
  };
}

async function stop(server: Server, connections: Connections, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // Connections become idle one by one, as their requests complete.
  const closeIdle = setInterval(() => {
    server.closeIdleConnections();
    // Node does not count them as idle. Browsers open connections in advance.
    connections.closeSilent();
  }, closeIdleEveryMs);
  const force = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(closeIdle);
  clearTimeout(force);
}
