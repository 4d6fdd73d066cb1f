import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A proxy's response. */
export interface ProxyResponse {
  readonly status: number;
  readonly head: string;
  /** The bytes after the head. For a tunnel, only the bytes that arrived with the head. */
  readonly rest: Buffer;
  readonly socket: Socket;
}

/** Sends bytes to a proxy at "host:port" and reads the head of its response. */
export async function askProxy(address: string, bytes: string): Promise<ProxyResponse> {
  const url = new URL(`http://${address}`);
  const socket = connect({ host: url.hostname, port: Number(url.port), allowHalfOpen: true });
  socket.on('error', () => {});
  socket.write(bytes);
  let received = Buffer.alloc(0);
  while (!received.includes('\r\n\r\n')) {
    const chunk = await nextChunk(socket);
    if (!chunk) break;
    received = Buffer.concat([received, chunk]);
  }
  const end = received.indexOf('\r\n\r\n');
  const head = received.toString('latin1', 0, Math.max(0, end));
  const status = Number(head.split(' ')[1] ?? 0);
  const rest = received.subarray(end + 4);
  if (status !== 200) socket.destroy();
  return { status, head, rest, socket };
}

/** Sends CONNECT for `authority` ("host:port"). */
export function connectThrough(proxy: string, authority: string, credentials?: string): Promise<ProxyResponse> {
  const header = credentials ? `Proxy-Authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n` : '';
  return askProxy(proxy, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${header}\r\n`);
}

/** Reads until the other side ends. */
export async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  for (let chunk = await nextChunk(socket); chunk; chunk = await nextChunk(socket)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function nextChunk(socket: Socket): Promise<Buffer | undefined> {
  for (;;) {
    const chunk = socket.read() as Buffer | null;
    if (chunk) return chunk;
    if (socket.readableEnded || socket.destroyed) return undefined;
    const over = new AbortController();
    const options = { signal: over.signal };
    await Promise.race(['readable', 'end', 'close'].map((event) => once(socket, event, options).catch(() => {})));
    over.abort();
  }
}
