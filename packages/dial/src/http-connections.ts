import type { Duplex } from 'node:stream';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { connect, serverName } from './connect.ts';

/**
 * Returns a function for the `createConnection` of a request or an agent of node:http or node:https. It opens
 * connections as {@link connect} does.
 */
export function createHttpConnections({ isTls, timeoutMs }: { isTls: boolean; timeoutMs: number }) {
  return (options: object, created: (error: Error | null, socket: Duplex) => void): undefined => {
    const { host = 'localhost', port, ...others } = options as ConnectionOptions;
    const secured = {
      ...others,
      host,
      servername: others.servername ?? serverName(host.replace(/^\[|\]$/g, '')),
      ALPNProtocols: ['http/1.1'],
    };
    connect({ host, port: Number(port), timeoutMs }).then(
      (socket) => created(null, isTls ? connectTls({ ...secured, socket }) : socket),
      (error: Error) => created(error, undefined as never),
    );
  };
}
