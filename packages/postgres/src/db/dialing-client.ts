import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { connect, explainCertificate } from '@rms/net/dial';
import pg from 'pg';
import type { ConnectionOptions } from './connection-options.ts';

/** Members of pg's connection that its types do not declare. */
interface Wire extends EventEmitter {
  /** The connection's socket. Until `connect` replaces it, a socket that is never opened. */
  stream: Socket;
  _connecting: boolean;
  /** Opens the stream and begins the protocol. `port` is a path if `host` is undefined. */
  connect(port: number, host?: string): void;
}

export interface DialingConfig extends pg.ClientConfig {
  /** Returns the options of the next connection. */
  readonly current: () => ConnectionOptions;
  readonly connectionTimeoutMillis: number;
}

/**
 * A client that opens its connection as `connect` of @rms/net/dial does: all addresses of the host race. pg itself
 * opens a single socket.
 */
export class DialingClient extends pg.Client {
  constructor(config: DialingConfig) {
    const { requiresChannelBinding, ...current } = config.current();
    super({ ...config, ...current });
    const { connection } = this as unknown as { connection: Wire };
    dialBefore(connection, config.connectionTimeoutMillis);
    if (requiresChannelBinding) requireChannelBinding(connection);
  }
}

/** Returns a session's server address; undefined if it is closed, or uses a Unix socket. */
export function addressOf(client: object): string | undefined {
  return (client as { connection: Wire }).connection.stream.remoteAddress;
}

function dialBefore(wire: Wire, timeoutMs: number): void {
  const begin = wire.connect.bind(wire);
  wire.prependListener('error', (error) => explainCertificate(error, 'DATABASE_CA_FILE'));
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

/**
 * Ends the connection, before a password is sent, unless the server proves with SCRAM-SHA-256-PLUS that it has the
 * password and the certificate of this connection. pg itself uses that mechanism if the server offers it, and does with
 * less otherwise.
 */
function requireChannelBinding(wire: Wire): void {
  let isOffered = false;
  let isBound = false;
  const refuse = () =>
    wire.stream.destroy(
      new Error('channel_binding=require in DATABASE_URL: the server does not offer SCRAM-SHA-256-PLUS'),
    );
  wire.prependListener('authenticationSASL', ({ mechanisms }: { mechanisms: readonly string[] }) => {
    isOffered = mechanisms.includes('SCRAM-SHA-256-PLUS');
    if (!isOffered) refuse();
  });
  wire.on('authenticationSASLFinal', () => {
    isBound = isOffered;
  });
  for (const event of ['authenticationCleartextPassword', 'authenticationMD5Password'])
    wire.prependListener(event, refuse);
  wire.prependListener('authenticationOk', () => {
    if (!isBound) refuse();
  });
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
