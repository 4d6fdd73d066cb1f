import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { refuseMalformed } from './malformed.ts';

/** An HTTP server of ours. */
export interface Listener {
  /** "http://127.0.0.1:8080", with the port that was bound. */
  readonly address: string;
  /** Takes no more connections, waits for the requests under way, at most so long. */
  stop(graceMs: number): Promise<void>;
}

const maxHeaderBytes = 16 * 1024;
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 30_000;
/** Longer than load balancers keep theirs, so that it is they who close an idle connection. */
const keepAliveTimeoutMs = 75_000;
const checkEveryMs = 2_000;
const closeIdleEveryMs = 50;

/** Listens. Rejects with EADDRINUSE and the like if it can't. */
export async function listen(host: string, port: number, handle: RequestListener): Promise<Listener> {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: checkEveryMs,
    // Checked by the app, whose answer has a request id.
    requireHostHeader: false,
  });
  server.on('request', handle);
  // "Expect: 100-continue" is answered when the body is wanted; other expectations are not ours to meet.
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  refuseMalformed(server);
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address() as AddressInfo;
  const name = bound.family === 'IPv6' ? `[${bound.address}]` : bound.address;
  return { address: `http://${name}:${bound.port}`, stop: (graceMs) => stop(server, graceMs) };
}

async function stop(server: Server, graceMs: number): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  // Connections become idle one by one, as their requests are answered.
  const closeIdle = setInterval(() => server.closeIdleConnections(), closeIdleEveryMs);
  const force = setTimeout(() => server.closeAllConnections(), graceMs);
  await closed;
  clearInterval(closeIdle);
  clearTimeout(force);
}
