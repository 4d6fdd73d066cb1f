import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '@rms/service';

export interface ConnectionLimits {
  /** More at once are closed as they come. */
  readonly maxConnections: number;
  /** How long a client may leave an answer, or a part of it, unread. */
  readonly unreadMs: number;
  /** How often that is looked at. */
  readonly sweepMs: number;
}

export interface Connections {
  /** The answer to the latest request of a connection. */
  answering(socket: Duplex): ServerResponse | undefined;
  /** How many are open. */
  count(): number;
}

interface Connection {
  latest: ServerResponse | undefined;
  unanswered: number;
  /** Since when its buffer has not been empty, in milliseconds of performance.now(); 0: it is empty. */
  unreadSinceMs: number;
}

/** Clients may send the next requests before they have read an answer; none needs so many. */
const mostUnanswered = 100;
const logDroppedEveryMs = 10_000;

/** Bounds what connections can hold: their number, their unanswered requests, answers that nobody reads. */
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
    if (connection.unanswered > mostUnanswered) socket.destroy();
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
  return { answering: (socket) => open.get(socket)?.latest, count: () => open.size };
}

/** At once for the first, then at most a line every ten seconds. */
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
