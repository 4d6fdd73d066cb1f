import type { EventEmitter } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
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

/** Members of pg's client that its types do not declare. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
}

const cancelTimeoutMs = 3_000;
/** Code of a CancelRequest in PostgreSQL's protocol. */
const cancelRequest = 80_877_102;

export interface DialingConfig extends pg.ClientConfig {
  /** Returns the next connection's options. */
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

/**
 * Asks the server to cancel a session's statement, and closes the session after the response, so that a late
 * cancellation cannot meet another statement.
 */
export function cancelStatement(client: pg.Client): void {
  const { processID, secretKey } = client as unknown as Backend;
  const { host, port } = client;
  // Another address of the host may be another server. A closed session has none, and a Unix socket needs none.
  const address = (client as unknown as { connection: Wire }).connection.stream.remoteAddress;
  void client.end();
  if (processID === null || secretKey === null) return;
  const isLocal = host.startsWith('/');
  if (!isLocal && address === undefined) return;
  const socket = isLocal ? connectSocket(`${host}/.s.PGSQL.${port}`) : connectSocket(port, address);
  const message = Buffer.alloc(16);
  message.writeInt32BE(message.length, 0);
  message.writeInt32BE(cancelRequest, 4);
  message.writeInt32BE(processID, 8);
  message.writeInt32BE(secretKey, 12);
  // Without a connection, statement_timeout ends the statement.
  socket.on('error', () => {});
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy());
  socket.end(message);
  socket.resume();
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
