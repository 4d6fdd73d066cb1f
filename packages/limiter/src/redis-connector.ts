import { createConnection, type NetConnectOpts, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls';
import { clientTls, type TlsFiles } from '@rms/settings';
import { AbstractConnector, type RedisOptions } from 'ioredis';

/** Address of one Redis server. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface Dialing {
  /** Finds the server of the next connection. */
  readonly endpoint: () => Promise<Endpoint>;
  readonly family: 4 | 6 | undefined;
  /** TLS files of the next connection; undefined: without TLS. */
  readonly tls: (() => TlsFiles) | undefined;
  /** Whether the server must be a primary. */
  readonly mustBePrimary: boolean;
}

/**
 * Returns a class that opens the sockets of a Redis client and handles all their errors. ioredis itself handles only the
 * first one, but a TLS socket can emit two: the client rejects the server's certificate, and then reads the server's
 * alert. The second one would end the process.
 */
export function connectorOf({ endpoint, family, tls, mustBePrimary }: Dialing) {
  return class RedisConnector extends AbstractConnector {
    constructor(options: unknown) {
      super((options as RedisOptions).disconnectTimeout ?? 0);
    }

    /** A server that was demoted after the sentinel's response is not used. */
    override check(info: { role?: string }): boolean {
      return !mustBePrimary || info.role === undefined || info.role === 'master';
    }

    override async connect(): Promise<Socket | TLSSocket> {
      this.connecting = true;
      const { host, port } = await endpoint();
      if (!this.connecting) throw new Error('Connection is closed.');
      const target = { host, port, family };
      const socket = tls
        ? connectTls({ ...target, ...clientTls(tls()) } as ConnectionOptions)
        : createConnection(target as NetConnectOpts);
      this.stream = socket;
      socket.on('error', (error) => {
        this.firstError ??= error;
      });
      return socket;
    }
  };
}
