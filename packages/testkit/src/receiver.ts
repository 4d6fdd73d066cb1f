import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from './wait-until.ts';

/** One call of the receiver, with the body's exact bytes. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body as JSON; undefined if it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly json: any;
  readonly receivedAtMs: number;
}

export type Respond = (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>;

/** An endpoint for webhooks on loopback. */
export interface Receiver {
  /** Where the service under test calls it: below TEST_RECEIVERS_URL if that is set, by its port. */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** How to answer from now on: a status, or whatever a function does with the response. Default: 200. */
  respondWith(answer: number | Respond): void;
  /** Waits until a request that fits has come, and returns it. */
  waitFor(fits: (request: ReceivedRequest) => boolean, what: string, timeoutMs?: number): Promise<ReceivedRequest>;
  close(): Promise<void>;
}

export async function startReceiver({ port = 0, path = '/hook' } = {}): Promise<Receiver> {
  const requests: ReceivedRequest[] = [];
  let respond: Respond = (_, response) => void response.end();
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.on('end', () => {
      const body = Buffer.concat(chunks);
      const { method = '', url = '', headers } = incoming;
      const request = { method, path: url, headers, body, json: parse(body), receivedAtMs: Date.now() };
      requests.push(request);
      void respond(request, response);
    });
    // A caller that gives up is a case that tests cause on purpose.
    incoming.on('error', () => {});
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  // A service that does not run on this machine calls a gate, which hands on to the port that the path begins with.
  const gate = process.env.TEST_RECEIVERS_URL;
  return {
    url: `${gate ? `${gate}/${bound}` : `http://127.0.0.1:${bound}`}${path}`,
    port: bound,
    requests,
    respondWith(answer) {
      respond = typeof answer === 'function' ? answer : (_, response) => void response.writeHead(answer).end();
    },
    waitFor: (fits, what, timeoutMs = 20_000) => waitUntil(() => requests.find(fits), { what, timeoutMs }),
    async close() {
      if (!server.listening) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
