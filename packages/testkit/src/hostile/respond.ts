import type { Socket } from 'node:net';
import type { Behavior, ResponseBehavior } from './behavior.ts';

export interface Exchange {
  readonly socket: Socket;
  readonly eventId: string;
  /** Records that the system has accepted the whole 200 response. */
  responded(): void;
}

const filler = Buffer.alloc(64 * 1024, 'y');
const dripEveryMs = 1_000;
const ok = head(200, { 'content-length': '0' });

/** Responds to a request according to the behavior of its path. */
export function respond(behavior: Behavior, exchange: Exchange): void {
  const { socket, responded } = exchange;
  switch (behavior.kind) {
    case 'respond':
      if (behavior.afterMs === undefined) plain(behavior, exchange);
      else setTimeout(() => plain(behavior, exchange), behavior.afterMs);
      break;
    case 'silent':
      break;
    case 'drip':
      drip(socket, behavior.part);
      break;
    case 'endless body':
      socket.write(head(200, { 'transfer-encoding': 'chunked' }));
      writeRepeatedly(
        socket,
        Buffer.concat([Buffer.from(`${filler.length.toString(16)}\r\n`), filler, Buffer.from('\r\n')]),
      );
      break;
    case 'huge body':
      socket.write(head(200, { 'content-length': `${behavior.bytes}` }));
      writeRepeatedly(socket, filler, behavior.bytes);
      break;
    case 'huge head':
      socket.write(head(200, { 'content-length': '0', 'x-huge': 'h'.repeat(behavior.bytes) }));
      break;
    case 'blank header':
      socket.write(head(behavior.status, { 'content-length': '0', 'x-blank': `a${' '.repeat(15_800)}b` }));
      break;
    case 'endless hints':
      writeRepeatedly(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </style.css>\r\n\r\n'.repeat(1_000)));
      break;
    case 'raw':
      socket.write(Buffer.from(behavior.bytes, 'base64'), () => {
        if (behavior.connection === 'end') socket.end();
        if (behavior.connection === 'reset') socket.resetAndDestroy();
      });
      break;
    case 'reset':
      socket.resetAndDestroy();
      break;
    case 'respond early':
    case 'close on reuse':
      socket.write(ok, responded);
      break;
  }
}

function plain(behavior: ResponseBehavior, { socket, eventId, responded }: Exchange): void {
  const { headers = {}, body = '', version = '1.1', close = version === '1.0', refused } = behavior;
  const status = refused?.eventIds.includes(eventId) ? refused.status : (behavior.status ?? 200);
  const bytes = Buffer.from(body);
  // 204 and 304 have neither a body nor a Content-Length.
  const length = status === 204 || status === 304 ? {} : { 'content-length': `${bytes.length}` };
  const all = { ...length, ...(close ? { connection: 'close' } : {}), ...headers };
  socket.write(Buffer.concat([head(status, all, version), bytes]), () => {
    if (status === 200) responded();
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

/** Writes a chunk repeatedly, as fast as the peer reads. */
function writeRepeatedly(socket: Socket, piece: Buffer, bytes = Number.POSITIVE_INFINITY): void {
  let remaining = bytes;
  const more = () => {
    while (!socket.destroyed && remaining > 0) {
      const next = remaining < piece.length ? piece.subarray(0, remaining) : piece;
      remaining -= next.length;
      if (!socket.write(next)) return void socket.once('drain', more);
    }
  };
  more();
}
