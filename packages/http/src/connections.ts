import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '@rms/logging';

export interface ConnectionLimits {
  /** Further connections are closed when they arrive. */
  readonly maxConnections: number;
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
}

interface Connection {
  latest: ServerResponse | undefined;
  unanswered: number;
  /**
   * Start of the period in which the write buffer was not empty, as performance.now() in milliseconds; 0: it is empty.
   */
  unreadSinceMs: number;
}

/** Maximum number of pipelined requests without a response. Real clients need far fewer. */
const maxUnanswered = 100;
const logDroppedEveryMs = 10_000;

/** Limits the resources of connections: their number, their unanswered requests and unread responses. */
export function limitConnections(server: Server, limits: ConnectionLimits, log: Logger): Connections {
  const open = new Map<Duplex, Connection>();
  server.maxConnections = limits.maxConnections;
  logDropped(server, limits.maxConnections, log);
  server.on('connection', (socket: Socket) => {
    open.set(socket, { latest: undefined, unanswered: 0, unreadSinceMs: 0 });
    socket.once('close', () => open.delete(socket));
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
  const sweep = setInterval(() => {
    const nowMs = performance.now();
    for (const [socket, connection] of open) {
      if (socket.writableLength === 0) connection.unreadSinceMs = 0;
      else if (connection.unreadSinceMs === 0) connection.unreadSinceMs = nowMs;
      else if (nowMs - connection.unreadSinceMs > limits.unreadMs) socket.destroy();
    }
  }, limits.sweepMs).unref();
  server.once('close', () => clearInterval(sweep));
  return { latestResponse: (socket) => open.get(socket)?.latest, count: () => open.size };
}

/** Logs the first dropped connection immediately, then at most one line every ten seconds. */
function logDropped(server: Server, maxConnections: number, log: Logger): void {
  let dropped = 0;
  let loggedAtMs = Number.NEGATIVE_INFINITY;
  server.on('drop', () => {
    dropped += 1;
    if (performance.now() - loggedAtMs < logDroppedEveryMs) return;
    loggedAtMs = performance.now();
    log.warn({ dropped, max_connections: maxConnections }, 'too many connections');
    dropped = 0;
  });
}
