import type { Socket } from 'node:net';
import type { AnswerBehaviour, Behaviour } from './behaviour.ts';

export interface Exchange {
  readonly socket: Socket;
  readonly eventId: string;
  /** The system has taken the whole answer of 200. */
  answered(): void;
}

const filler = Buffer.alloc(64 * 1024, 'y');
const dripEveryMs = 1_000;
const ok = head(200, { 'content-length': '0' });

/** Treats a request that has been read as its behaviour says. */
export function answer(behaviour: Behaviour, exchange: Exchange): void {
  const { socket, answered } = exchange;
  switch (behaviour.kind) {
    case 'answer':
      if (behaviour.afterMs === undefined) plain(behaviour, exchange);
      else setTimeout(() => plain(behaviour, exchange), behaviour.afterMs);
      break;
    case 'silent':
      break;
    case 'drip':
      drip(socket, behaviour.part);
      break;
    case 'endless body':
      socket.write(head(200, { 'transfer-encoding': 'chunked' }));
      pour(socket, Buffer.concat([Buffer.from(`${filler.length.toString(16)}\r\n`), filler, Buffer.from('\r\n')]));
      break;
    case 'huge body':
      socket.write(head(200, { 'content-length': `${behaviour.bytes}` }));
      pour(socket, filler, behaviour.bytes);
      break;
    case 'huge head':
      socket.write(head(200, { 'content-length': '0', 'x-huge': 'h'.repeat(behaviour.bytes) }));
      break;
    case 'endless hints':
      pour(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n'.repeat(1_000)));
      break;
    case 'raw':
      socket.write(Buffer.from(behaviour.bytes, 'base64'), () => {
        if (behaviour.connection === 'end') socket.end();
        if (behaviour.connection === 'reset') socket.resetAndDestroy();
      });
      break;
    case 'reset':
      socket.resetAndDestroy();
      break;
    case 'answer early':
    case 'close on reuse':
      socket.write(ok, answered);
      break;
  }
}

function plain(behaviour: AnswerBehaviour, { socket, eventId, answered }: Exchange): void {
  const { headers = {}, body = '', version = '1.1', close = version === '1.0', refused } = behaviour;
  const status = refused?.eventIds.includes(eventId) ? refused.status : (behaviour.status ?? 200);
  const bytes = Buffer.from(body);
  // 204 and 304 have no body, and say nothing of its length.
  const length = status === 204 || status === 304 ? {} : { 'content-length': `${bytes.length}` };
  const all = { ...length, ...(close ? { connection: 'close' } : {}), ...headers };
  socket.write(Buffer.concat([head(status, all, version), bytes]), () => {
    if (status === 200) answered();
    if (close) socket.end();
  });
}

function head(status: number, headers: Readonly<Record<string, string>>, version = '1.1'): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`HTTP/${version} ${status} Whatever\r\n${lines.join('')}\r\n`);
}

function drip(socket: Socket, part: 'head' | 'body'): void {
  socket.write(part === 'head' ? 'HTTP/1.1 200 OK\r\nx-slow: ' : head(200, { 'content-length': '1000' }));
  const timer = setInterval(() => socket.write('.'), dripEveryMs);
  socket.once('close', () => clearInterval(timer));
}

/** Writes a piece again and again, as fast as it is taken. */
function pour(socket: Socket, piece: Buffer, bytes = Number.POSITIVE_INFINITY): void {
  let left = bytes;
  const more = () => {
    while (!socket.destroyed && left > 0) {
      const next = left < piece.length ? piece.subarray(0, left) : piece;
      left -= next.length;
      if (!socket.write(next)) return void socket.once('drain', more);
    }
  };
  more();
}
