import { createServer, request } from 'node:http';
import { listenOnLoopback } from '@rms/testkit';

/** A server on loopback that sends every request to one host of an ingress. */
export interface NamedProxy {
  readonly url: string;
  stop(): Promise<void>;
}

/** Makes a host of the ingress at `url` reachable for programs that cannot resolve its name. */
export async function startNamedProxy(url: string, host: string): Promise<NamedProxy> {
  const { hostname, port } = new URL(url);
  const server = createServer((incoming, outgoing) => {
    const { method, url: path, headers } = incoming;
    const onward = request({ hostname, port, method, path, headers: { ...headers, host } }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  const listening = await listenOnLoopback(server);
  return { url: `http://127.0.0.1:${listening.port}`, stop: listening.close };
}
