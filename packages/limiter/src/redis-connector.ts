import { createConnection, type NetConnectOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { AbstractConnector, type RedisOptions } from 'ioredis';

/**
 * Opens the sockets of a Redis client and handles all their errors. ioredis itself handles only the first one, but a TLS
 * socket can emit two: the client rejects the server's certificate, and then reads the server's alert. The second one
 * would end the process.
 */
export class RedisConnector extends AbstractConnector {
  readonly #options: RedisOptions;

  constructor(options: unknown) {
    const redisOptions = options as RedisOptions;
    super(redisOptions.disconnectTimeout ?? 0);
    this.#options = redisOptions;
  }

  override async connect(): Promise<Socket | TLSSocket> {
    const { host, port, path, family, tls } = this.#options;
    const target = { ...(path ? { path } : { host, port }), family };
    const socket = tls
      ? connectTls({ ...target, ...tls } as ConnectionOptions)
      : createConnection(target as NetConnectOpts);
    this.connecting = true;
    this.stream = socket;
    socket.on('error', (error) => {
      this.firstError ??= error;
    });
    return socket;
  }
}
