import { once } from 'node:events';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';

export interface SendOptions {
  /** An API key, or its value. */
  readonly key?: string | { readonly value: string };
  readonly json?: unknown;
  readonly raw?: string | Buffer;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly signal?: AbortSignal;
}

/** A response as received. */
export interface WireResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of every shape
  readonly body: any;
}

/** Sends one request on a new connection. */
export function send(base: string, method: string, path: string, options: SendOptions = {}): Promise<WireResponse> {
  const { key, json, headers = {}, signal } = options;
  const raw = options.raw ?? (json === undefined ? undefined : JSON.stringify(json));
  const { hostname, port } = new URL(base);
  return new Promise((resolve, reject) => {
    const outgoing = request({
      method,
      // A URL has brackets around an IPv6 address.
      hostname: hostname.replaceAll(/[[\]]/g, ''),
      port,
      path,
      agent: false,
      headers: {
        ...(key === undefined ? {} : { Authorization: `Bearer ${typeof key === 'string' ? key : key.value}` }),
        ...(raw === undefined ? {} : { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(raw) }),
        ...headers,
      },
      ...(signal ? { signal } : {}),
    });
    outgoing.on('error', reject);
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () =>
        resolve(toResponse(incoming.statusCode ?? 0, incoming.headers, Buffer.concat(chunks).toString())),
      );
    });
    outgoing.end(raw);
  });
}

/** Writes bytes to a socket, and reads until the server closes it or `enough` returns true. */
export async function sendBytes(
  base: string,
  bytes: string | Buffer,
  enough: (text: string) => boolean = () => false,
): Promise<string> {
  const { hostname, port } = new URL(base);
  const socket = connect(Number(port), hostname);
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    if (enough(text)) socket.destroy();
  });
  socket.on('error', () => {});
  socket.write(bytes);
  await once(socket, 'close');
  return text;
}

/** Parses a raw HTTP response. */
export function parseResponse(text: string): WireResponse {
  const [head = '', body = ''] = text.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return toResponse(Number(statusLine.split(' ')[1]), headers, body);
}

function toResponse(status: number, headers: IncomingHttpHeaders, text: string): WireResponse {
  const flat = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const isJson = text !== '' && (flat['content-type'] ?? '').startsWith('application/json');
  return { status, headers: flat, text, body: isJson ? JSON.parse(text) : undefined };
}
