import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { connect, serverName } from './connect.ts';
import type { ProxyChoice } from './proxy/proxy-choice.ts';

export interface HttpConnectionsOptions {
  readonly isTls: boolean;
  readonly timeoutMs: number;
  /** Default: every server is dialed directly. */
  readonly proxyFor?: ProxyChoice;
}

/**
 * Returns a function for the `createConnection` of a request or an agent of node:http or node:https. It opens
 * connections as {@link connect} does. A request without an agent also needs `defaultPort`, because node:https takes 80.
 */
export function createHttpConnections({ isTls, timeoutMs, proxyFor }: HttpConnectionsOptions) {
  return (options: object, created: (error: Error | null, socket: Duplex) => void): undefined => {
    const { host = 'localhost', port, ...others } = options as ConnectionOptions;
    const secured = {
      ...others,
      host,
      servername: others.servername ?? serverName(host.replace(/^\[|\]$/g, '')),
      ALPNProtocols: ['http/1.1'],
    };
    const proxy = proxyFor?.({ protocol: isTls ? 'https:' : 'http:', hostname: host, port: `${port}` });
    // With a proxy, TLS with the server begins here, so that its CA also applies to the proxy.
    const connected = proxy
      ? connect({ host, port: Number(port), timeoutMs, proxy, tls: isTls ? secured : undefined })
      : connect({ host, port: Number(port), timeoutMs }).then((socket) =>
          isTls ? connectTls({ ...secured, socket }) : socket,
        );
    connected.then(
      (socket) => created(null, socket),
      (error: Error) => created(error, undefined as never),
    );
  };
}
