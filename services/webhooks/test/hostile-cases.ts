import type { Behaviour, ListenerName } from '@rms/testkit';

/** A way to answer, and what an attempt there comes to. */
export interface HostileCase {
  readonly name: string;
  readonly behaviour?: Behaviour;
  readonly listener?: ListenerName;
  /** 0: no answer. */
  readonly status: number;
  /** As the log has it. */
  readonly error: string | RegExp;
  /** The request is never read. */
  readonly unread?: boolean;
}

export const noCompleteAnswer = 'timeout: no complete answer within 10 s';
const broken = 'connection: UND_ERR_SOCKET';
const ok = 'HTTP/1.1 200 OK\r\n';

function raw(text: string, connection: 'keep' | 'end' | 'reset' = 'end'): Behaviour {
  return { kind: 'raw', bytes: Buffer.from(text, 'latin1').toString('base64'), connection };
}

/** An answer as it should be, with that status. */
function plain(status: number, headers: Record<string, string> = {}): HostileCase {
  const error = status === 200 ? '' : `status: ${status}`;
  return {
    name: `${status} ${JSON.stringify(headers)}`,
    behaviour: { kind: 'answer', status, headers },
    status,
    error,
  };
}

/** Answers in time, whatever they say. `here` and `elsewhere` are URLs of requests that nobody must make. */
export const promptCases = (here: string, elsewhere: string): readonly HostileCase[] => [
  plain(200),
  ...[201, 202, 204, 205, 226, 300, 304, 400, 401, 403, 404, 408, 409, 418, 500, 502, 504, 599, 999].map((status) =>
    plain(status),
  ),
  ...[301, 302, 303, 307, 308].flatMap((status) => [
    plain(status, { location: here }),
    plain(status, { location: elsewhere }),
  ]),
  ...['7', '-7', '99999999999999999999', 'soon', 'Wed, 21 Oct 2015 07:28:00 GMT', '7, 8'].flatMap((retryAfter) => [
    plain(429, { 'retry-after': retryAfter }),
    plain(503, { 'retry-after': retryAfter }),
  ]),
  { name: 'slow, but in time', behaviour: { kind: 'answer', afterMs: 1_000 }, status: 200, error: '' },
  { name: 'HTTP/1.0', behaviour: { kind: 'answer', version: '1.0', body: 'thanks' }, status: 200, error: '' },
  { name: 'Connection: close', behaviour: { kind: 'answer', close: true, body: 'thanks' }, status: 200, error: '' },
  { name: 'before the body is read', behaviour: { kind: 'answer early' }, status: 200, error: '' },
  {
    name: 'after early hints',
    behaviour: raw(`${'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(3)}${ok}content-length: 0\r\n\r\n`),
    status: 200,
    error: '',
  },
  {
    name: 'after a 100 that nobody asked for',
    behaviour: raw(`HTTP/1.1 100 Continue\r\n\r\n${ok}content-length: 0\r\n\r\n`),
    status: 0,
    error: broken,
  },
  {
    name: 'hints without end',
    behaviour: { kind: 'endless hints' },
    status: 0,
    error: 'connection: more than 16 answers of 1xx',
  },
  {
    name: '101',
    behaviour: raw('HTTP/1.1 101 Switching\r\nupgrade: h2c\r\n\r\n'),
    status: 0,
    error: 'connection: an answer out of turn',
  },
  { name: 'until the end', behaviour: raw(`${ok}\r\nno length`), status: 200, error: '' },
  { name: 'an endless body', behaviour: { kind: 'endless body' }, status: 200, error: '' },
  { name: '100 MB', behaviour: { kind: 'huge body', bytes: 100 * 1024 * 1024 }, status: 200, error: '' },
  {
    name: 'a bomb, had it been unpacked',
    behaviour: { kind: 'answer', headers: { 'content-encoding': 'gzip' }, body: 'no gzip at all' },
    status: 200,
    error: '',
  },
  {
    name: 'a huge head',
    behaviour: { kind: 'huge head', bytes: 1024 * 1024 },
    status: 0,
    error: 'connection: UND_ERR_HEADERS_OVERFLOW',
  },
  { name: 'no HTTP', behaviour: raw('SSH-2.0-nonsense\r\n'), status: 0, error: /^connection: / },
  { name: 'HTTP/0.9', behaviour: raw('<html>'), status: 0, error: /^connection: / },
  { name: 'a status of one digit', behaviour: raw('HTTP/1.1 2 OK\r\n\r\n'), status: 0, error: /^connection: / },
  { name: 'NUL in a header', behaviour: raw(`${ok}x: \0\r\n\r\n`), status: 0, error: /^connection: / },
  {
    name: 'two lengths',
    behaviour: raw(`${ok}content-length: 3\r\ncontent-length: 4\r\n\r\nabcd`),
    status: 0,
    error: /^connection: /,
  },
  {
    name: 'a length and chunks',
    behaviour: raw(`${ok}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
    status: 0,
    error: /^connection: /,
  },
  {
    name: 'chunks that are none',
    behaviour: raw(`${ok}transfer-encoding: chunked\r\n\r\nzz\r\nhello`),
    status: 0,
    error: /^connection: /,
  },
  { name: 'the end in the head', behaviour: raw(`${ok}x: y`), status: 0, error: broken },
  { name: 'the end in the body', behaviour: raw(`${ok}content-length: 9\r\n\r\nhalf`), status: 0, error: broken },
  {
    name: 'the end in a chunk',
    behaviour: raw(`${ok}transfer-encoding: chunked\r\n\r\n9\r\nhalf`),
    status: 0,
    error: broken,
  },
  {
    name: 'a reset in the body',
    behaviour: raw(`${ok}content-length: 9\r\n\r\nhalf`, 'reset'),
    status: 0,
    error: /^connection: /,
  },
  { name: 'the end', behaviour: raw(''), status: 0, error: broken },
  { name: 'a reset', behaviour: { kind: 'reset' }, status: 0, error: /^connection: / },
  { name: 'a reset at once', listener: 'resetting', status: 0, error: /^connection: /, unread: true },
  { name: 'a certificate of nobody', listener: 'selfSigned', status: 0, error: /^tls: /, unread: true },
  { name: 'old TLS', listener: 'oldTls', status: 0, error: /^tls: /, unread: true },
  { name: 'the end in the handshake', listener: 'closing', status: 0, error: /^connection: /, unread: true },
];

/** What comes never, or too late. */
export const lateCases: readonly HostileCase[] = [
  { name: 'never', behaviour: { kind: 'silent' }, status: 0, error: noCompleteAnswer },
  {
    name: 'the head only',
    behaviour: raw(`${ok}content-length: 9\r\n\r\n`, 'keep'),
    status: 0,
    error: noCompleteAnswer,
  },
  { name: 'a byte of head a second', behaviour: { kind: 'drip', part: 'head' }, status: 0, error: noCompleteAnswer },
  { name: 'a byte of body a second', behaviour: { kind: 'drip', part: 'body' }, status: 0, error: noCompleteAnswer },
  { name: 'a second too late', behaviour: { kind: 'answer', afterMs: 11_000 }, status: 0, error: noCompleteAnswer },
  { name: 'a handshake without end', listener: 'mute', status: 0, error: 'connect: timed out', unread: true },
];
