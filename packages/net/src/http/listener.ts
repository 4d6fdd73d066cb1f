import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FairShare } from '@rms/async';
import { type CidrList, networkOf, normalizeAddress } from '@rms/base/cidr';
import type { Logger } from '@rms/runtime/logging';
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
  refuseMalformed(server, connections.latestResponse, {
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

interface ConnectionLimits {
  /** Further connections are closed when they arrive. */
  readonly maxConnections: number;
  /** Further connections of a client network are closed when they arrive. 0: no limit. */
  readonly maxConnectionsPerAddress: number;
  /** Their connections carry the requests of many clients. */
  readonly trustedProxies: CidrList;
  /** Maximum time that a response, or a part of it, may stay unread by the client. */
  readonly unreadMs: number;
  /** Interval of that check. */
  readonly sweepMs: number;
}

export interface Connections {
  /** Returns the response to the latest request of a connection. */
  latestResponse(socket: Duplex): ServerResponse | undefined;
  /** Number of open connections. */
  count(): number;
  /** Closes the connections that have received nothing. */
  closeSilent(): void;
}

interface Connection {
  latest: ServerResponse | undefined;
  unanswered: number;
  /**
   * Start of the period with a write buffer that was not empty, as performance.now() in milliseconds; 0: it is empty.
   */
  unreadSinceMs: number;
}

/** Maximum number of pipelined requests without a response. Real clients need far fewer. */
const maxUnanswered = 100;
const logDroppedEveryMs = 10_000;

interface ConnectionReports {
  readonly log: Logger;
  /** Called for every connection that is closed because of its number. */
  readonly onRefused: (reason: 'too_many_connections' | 'too_many_of_address') => void;
}

/** Limits the resources of connections: their number, their unanswered requests and unread responses. */
export function limitConnections(
  server: Server,
  limits: ConnectionLimits,
  { log, onRefused }: ConnectionReports,
): Connections {
  const { maxConnections, maxConnectionsPerAddress } = limits;
  const open = new Map<Socket, Connection>();
  server.maxConnections = maxConnections;
  const logDropped = logSometimes(log);
  server.on('drop', () => {
    onRefused('too_many_connections');
    logDropped('too many connections', { max_connections: maxConnections });
  });
  const addresses = new ClientAddresses(limits);
  const logRefused = logSometimes(log);
  server.on('connection', (socket: Socket) => {
    const network = addresses.admit(socket);
    if (network !== undefined) {
      socket.destroy();
      onRefused('too_many_of_address');
      return logRefused('too many connections of an address', {
        address: network,
        max_connections_per_address: maxConnectionsPerAddress,
      });
    }
    open.set(socket, { latest: undefined, unanswered: 0, unreadSinceMs: 0 });
    sweeping ??= setInterval(sweep, limits.sweepMs).unref();
    socket.once('close', () => {
      open.delete(socket);
      if (open.size === 0) endSweeps();
    });
  });
  const count = (response: ServerResponse) => {
    const { socket } = response.req;
    const connection = open.get(socket);
    if (!connection) return;
    connection.latest = response;
    connection.unanswered += 1;
    if (connection.unanswered > maxUnanswered) socket.destroy();
    response.once('close', () => {
      connection.unanswered -= 1;
    });
  };
  for (const event of ['request', 'checkContinue', 'checkExpectation']) {
    server.on(event, (_request, response: ServerResponse) => count(response));
  }
  const sweep = () => {
    const nowMs = performance.now();
    for (const [socket, connection] of open) {
      if (socket.writableLength === 0) connection.unreadSinceMs = 0;
      else if (connection.unreadSinceMs === 0) connection.unreadSinceMs = nowMs;
      else if (nowMs - connection.unreadSinceMs > limits.unreadMs) socket.destroy();
    }
  };
  /** Set while connections are open. */
  let sweeping: NodeJS.Timeout | undefined;
  const endSweeps = () => {
    clearInterval(sweeping);
    sweeping = undefined;
  };
  server.once('close', endSweeps);
  return {
    latestResponse: (socket) => open.get(socket as Socket)?.latest,
    count: () => open.size,
    closeSilent() {
      for (const socket of open.keys()) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

/** Counts the connections of client networks. */
class ClientAddresses {
  readonly #trustedProxies: CidrList;
  readonly #open: FairShare | undefined;

  constructor({ maxConnectionsPerAddress: perTenant, trustedProxies }: ConnectionLimits) {
    this.#trustedProxies = trustedProxies;
    this.#open = perTenant === 0 ? undefined : new FairShare({ perTenant });
  }

  /** Counts a connection until it closes. Returns the client's network instead if it has too many. */
  admit(socket: Socket): string | undefined {
    const open = this.#open;
    const address = normalizeAddress(socket.remoteAddress ?? '');
    if (!open || address === undefined || this.#trustedProxies.has(address)) return undefined;
    const network = networkOf(address);
    if (!open.take(network)) return network;
    socket.once('close', () => open.release(network));
    return undefined;
  }
}

/** Returns a function that logs its first call immediately, then at most one line every ten seconds. */
function logSometimes(log: Logger): (message: string, fields: object) => void {
  let dropped = 0;
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  return (message, fields) => {
    dropped += 1;
    if (performance.now() - loggedAtMs < logDroppedEveryMs) return;
    loggedAtMs = performance.now();
    log.warn({ dropped, ...fields }, message);
    dropped = 0;
  };
}

/** Hosts of listeners that are bound to all addresses, and the address that reaches them from this machine. */
const everyAddress: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
]);

/** Whether a listener with this host is bound to all addresses, so that clients need to know another one. */
export function isEveryAddress(host: string): boolean {
  return everyAddress.has(host);
}

/** Returns a URL that works on this machine, also for a listener that is bound to all addresses. */
export function localUrl(host: string, port: number): string {
  const reachable = everyAddress.get(host) ?? host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
