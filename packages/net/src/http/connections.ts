import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { FairShare } from '@rms/async';
import { type CidrList, networkOf, normalizeAddress } from '@rms/base/cidr';
import type { Logger } from '@rms/runtime/logging';

export interface ConnectionLimits {
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

export interface ConnectionReports {
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
