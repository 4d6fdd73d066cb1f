import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitUntil } from './wait-until.ts';

/** A request to the receiver, with the exact bytes of its body. */
export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The body as JSON; undefined if it is not JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly json: any;
  readonly receivedAtMs: number;
}

export type Respond = (request: ReceivedRequest, response: ServerResponse) => void | Promise<void>;

/** A webhook endpoint on loopback. */
export interface Receiver {
  /** URL for the service under test: below TEST_RECEIVERS_URL/<port> if that variable is set, otherwise on loopback. */
  readonly url: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
  /** Sets the response to later requests: a status, or a function that writes the response. Default: 200. */
  respondWith(status: number | Respond): void;
  /** Waits for a request that satisfies `fits`, and returns it. */
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
    // Some tests provoke clients that give up.
    incoming.on('error', () => {});
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const bound = (server.address() as AddressInfo).port;
  // A service on another machine calls a gateway URL, which forwards to the port at the path's start.
  const gate = process.env.TEST_RECEIVERS_URL;
  return {
    url: `${gate ? `${gate}/${bound}` : `http://127.0.0.1:${bound}`}${path}`,
    port: bound,
    requests,
    respondWith(status) {
      respond = typeof status === 'function' ? status : (_, response) => void response.writeHead(status).end();
    },
    waitFor: (fits, what, timeoutMs) => waitUntil(() => requests.find(fits), { what, ...(timeoutMs && { timeoutMs }) }),
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
