import type { Duplex } from 'node:stream';

export interface RequestHead {
  /** Without the query. */
  readonly path: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface RequestHandlers {
  /** Called at the first bytes of a request. Returns whether to continue. */
  onFirstByte(): boolean;
  /** Called after the head. Returns whether to call onRequest; otherwise, the body is discarded. */
  onHead(head: RequestHead): boolean;
  onRequest(head: RequestHead, body: Buffer): void;
}

const headEnd = Buffer.from('\r\n\r\n');

/** Reads a connection's requests, one after another. Supports Content-Length only. */
export function readRequests(socket: Duplex, { onFirstByte, onHead, onRequest }: RequestHandlers): void {
  let buffered = Buffer.alloc(0);
  let head: RequestHead | undefined;
  let isWanted = true;
  socket.on('data', (chunk: Buffer) => {
    if (buffered.length === 0 && !head && !onFirstByte()) return;
    buffered = Buffer.concat([buffered, chunk]);
    for (;;) {
      if (!head) {
        const end = buffered.indexOf(headEnd);
        if (end < 0) return;
        head = parseHead(buffered.toString('latin1', 0, end));
        buffered = buffered.subarray(end + headEnd.length);
        isWanted = onHead(head);
      }
      const length = Number(head.headers['content-length'] ?? 0);
      if (buffered.length < length) return;
      const [whole, body] = [head, buffered.subarray(0, length)];
      buffered = buffered.subarray(length);
      head = undefined;
      if (isWanted) onRequest(whole, body);
    }
  });
}

function parseHead(text: string): RequestHead {
  const [requestLine = '', ...lines] = text.split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const [, target = ''] = requestLine.split(' ');
  return { path: target.split('?')[0] ?? '', headers: Object.fromEntries(headers) };
}
