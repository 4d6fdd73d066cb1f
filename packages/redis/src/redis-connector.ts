import { Socket } from 'node:net';
import { connect } from '@rms/net/dial';
import { clientTls, type TlsFiles } from '@rms/runtime/settings';
import { AbstractConnector, type RedisOptions } from 'ioredis';

/** Address of a Redis server. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

export interface Dialing {
  /** Finds the next connection's server. */
  readonly endpoint: () => Promise<Endpoint>;
  readonly family: 4 | 6 | undefined;
  /** TLS files of the next connection; undefined: without TLS. */
  readonly tls: (() => TlsFiles) | undefined;
  /** Whether the server must be a primary. */
  readonly mustBePrimary: boolean;
  /** For the connection and the TLS handshake together. */
  readonly timeoutMs: number;
}

/**
 * Returns a class that opens a Redis client's sockets and handles all their errors. ioredis itself handles only the
 * first one, but a TLS socket can emit two: the client rejects the server's certificate, and then reads the server's
 * alert. The second one would end the process.
 */
export function connectorOf({ endpoint, family, tls, mustBePrimary, timeoutMs }: Dialing) {
  return class RedisConnector extends AbstractConnector {
    #ending = new AbortController();

    constructor(options: unknown) {
      super((options as RedisOptions).disconnectTimeout ?? 0);
    }

    /** A server that was demoted after the sentinel's response is not used. */
    override check(info: { role?: string }): boolean {
      return !mustBePrimary || info.role === undefined || info.role === 'master';
    }

    /** Never rejects, because ioredis would not reconnect: after a failure, the socket is closed. */
    override async connect(): Promise<Socket> {
      this.connecting = true;
      this.#ending = new AbortController();
      const { signal } = this.#ending;
      delete this.firstError;
      const socket = await this.#open(signal).catch((error: Error) => {
        if (!signal.aborted) this.firstError = error;
        return new Socket().destroy();
      });
      if (signal.aborted) socket.destroy();
      this.stream = socket;
      socket.on('error', (error) => {
        this.firstError ??= error;
      });
      return socket;
    }

    async #open(signal: AbortSignal): Promise<Socket> {
      const { host, port } = await endpoint();
      return connect({
        host,
        port,
        family,
        timeoutMs,
        signal,
        tls: tls && clientTls(tls()),
        caSetting: 'REDIS_CA_FILE',
      });
    }

    override disconnect(): void {
      this.#ending.abort(new Error('Connection is closed.'));
      super.disconnect();
    }
  };
}
