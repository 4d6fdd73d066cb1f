import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from '@rms/dial';
import pg from 'pg';

/** Members of pg's connection that its types do not declare. */
interface Wire extends EventEmitter {
  /** The socket of the connection. Until `connect` replaces it, a socket that is never opened. */
  stream: Socket;
  _connecting: boolean;
  /** Opens the stream and begins the protocol. `port` is a path if `host` is undefined. */
  connect(port: number, host?: string): void;
}

/**
 * Returns a class of clients that open connections as `connect` of packages/dial does: all addresses of the host race.
 * pg itself opens a single socket.
 * @param options returns the options of the next connection
 */
export function dialingClient(options: () => pg.ClientConfig, timeoutMs: number): typeof pg.Client {
  return class DialingClient extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, ...options() });
      dialBefore((this as unknown as { connection: Wire }).connection, timeoutMs);
    }
  };
}

/** Returns the address of the server of a session; undefined if it is closed, or uses a Unix socket. */
export function addressOf(client: object): string | undefined {
  return (client as { connection: Wire }).connection.stream.remoteAddress;
}

function dialBefore(wire: Wire, timeoutMs: number): void {
  const begin = wire.connect.bind(wire);
  wire.connect = (port, host) => {
    // A Unix socket has a single address.
    if (host === undefined) return begin(port);
    wire._connecting = true;
    const closing = new AbortController();
    // pg destroys the stream if it gives up.
    const unopened = wire.stream.on('error', () => {});
    unopened.once('close', () => closing.abort(new Error('the connection was closed')));
    connect({ host, port, timeoutMs, signal: closing.signal }).then(
      (socket) => {
        wire.stream = opened(socket);
        begin(port, host);
        if (closing.signal.aborted) socket.destroy();
      },
      (error: Error) => {
        wire.emit('error', error);
        wire.emit('end');
      },
    );
  };
}

/** Makes pg's own call to connect the socket do nothing. */
function opened(socket: Socket): Socket {
  return Object.assign(socket, {
    connect() {
      process.nextTick(() => socket.emit('connect'));
      return socket;
    },
  });
}
