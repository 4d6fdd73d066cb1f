import { createServer, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { listenOnLoopback } from './loopback-server.ts';

/** A forward proxy on loopback that tunnels CONNECT requests. */
export interface ConnectProxy {
  readonly url: string;
  /** The host:port of every CONNECT request, and the target of every other request. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/** Starts a forward proxy. `dial` maps the requested host:port to the port on loopback that it connects to. */
export async function startConnectProxy(dial: (authority: string) => number): Promise<ConnectProxy> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.writeHead(405).end();
  });
  server.on('connect', ({ url = '' }: IncomingMessage, client: Socket, head: Buffer) => {
    requests.push(url);
    const target = connect(dial(url), '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      target.write(head);
      target.pipe(client).pipe(target);
    });
    target.on('error', () => client.destroy());
    client.on('error', () => target.destroy());
    client.on('close', () => target.destroy());
  });
  const { port, close } = await listenOnLoopback(server);
  return { url: `http://127.0.0.1:${port}`, requests, close };
}
