import type { Behavior, ListenerName } from '@rms/testkit';

/** A server behavior and the expected result of an attempt. */
export interface HostileCase {
  readonly name: string;
  readonly behavior?: Behavior;
  readonly listener?: ListenerName;
  /** The status that arrives, even if the response is incomplete; 0 if none does. */
  readonly status: number;
  /** The error in the delivery log. */
  readonly error: string | RegExp;
  /** Whether the request is never read. */
  readonly unread?: boolean;
}

export const noCompleteResponse = /^timeout: no complete response within 10 s \(response: \d+\.\d s\)$/;
const broken = /^connection: UND_ERR_SOCKET \(response: /;
const ok = 'HTTP/1.1 200 OK\r\n';

function raw(text: string, connection: 'keep' | 'end' | 'reset' = 'end'): Behavior {
  return { kind: 'raw', bytes: Buffer.from(text, 'latin1').toString('base64'), connection };
}

/** A regular response with the given status. */
function plain(status: number, headers: Record<string, string> = {}): HostileCase {
  const isSuccess = status > 200 && status < 300;
  const error = status === 200 ? '' : `status: ${status}${isSuccess ? '; only 200 counts as delivered' : ''}`;
  return {
    name: `${status} ${JSON.stringify(headers)}`,
    behavior: { kind: 'respond', status, headers },
    status,
    error,
  };
}

/** Cases that respond in time. `here` and `elsewhere` are URLs that must not be requested. */
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
  { name: 'slow, but in time', behavior: { kind: 'respond', afterMs: 1_000 }, status: 200, error: '' },
  { name: 'HTTP/1.0', behavior: { kind: 'respond', version: '1.0', body: 'thanks' }, status: 200, error: '' },
  { name: 'Connection: close', behavior: { kind: 'respond', close: true, body: 'thanks' }, status: 200, error: '' },
  { name: 'before the body is read', behavior: { kind: 'respond early' }, status: 200, error: '' },
  {
    name: 'after early hints',
    behavior: raw(`${'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'.repeat(3)}${ok}content-length: 0\r\n\r\n`),
    status: 200,
    error: '',
  },
  {
    name: 'after an unsolicited 100',
    behavior: raw(`HTTP/1.1 100 Continue\r\n\r\n${ok}content-length: 0\r\n\r\n`),
    status: 200,
    error: '',
  },
  {
    name: 'endless hints',
    behavior: { kind: 'endless hints' },
    status: 103,
    error: /^connection: more than 16 responses with status 1xx \(/,
  },
  {
    name: '101',
    behavior: raw('HTTP/1.1 101 Switching\r\nupgrade: h2c\r\n\r\n'),
    status: 101,
    error: /^connection: unexpected response \(/,
  },
  { name: 'a body until the end of the connection', behavior: raw(`${ok}\r\nno length`), status: 200, error: '' },
  { name: 'an endless body', behavior: { kind: 'endless body' }, status: 200, error: '' },
  { name: '100 MB', behavior: { kind: 'huge body', bytes: 100 * 1024 * 1024 }, status: 200, error: '' },
  {
    name: 'a decompression bomb',
    behavior: { kind: 'respond', headers: { 'content-encoding': 'gzip' }, body: 'no gzip at all' },
    status: 200,
    error: '',
  },
  {
    name: 'a huge head',
    behavior: { kind: 'huge head', bytes: 1024 * 1024 },
    status: 200,
    error: /^connection: UND_ERR_HEADERS_OVERFLOW \(/,
  },
  {
    name: 'a body full of private keys',
    behavior: { kind: 'respond', status: 500, body: '-----BEGIN PRIVATE KEY-----'.repeat(9_000) },
    status: 500,
    error: 'status: 500',
  },
  { name: 'a header of blanks', behavior: { kind: 'blank header', status: 500 }, status: 500, error: 'status: 500' },
  { name: 'no HTTP', behavior: raw('SSH-2.0-nonsense\r\n'), status: 0, error: /^connection: / },
  { name: 'HTTP/0.9', behavior: raw('<html>'), status: 0, error: /^connection: / },
  { name: 'a one-digit status', behavior: raw('HTTP/1.1 2 OK\r\n\r\n'), status: 0, error: /^connection: / },
  { name: 'NUL in a header', behavior: raw(`${ok}x: \0\r\n\r\n`), status: 200, error: /^connection: / },
  {
    name: 'two lengths',
    behavior: raw(`${ok}content-length: 3\r\ncontent-length: 4\r\n\r\nabcd`),
    status: 200,
    error: /^connection: /,
  },
  {
    name: 'a length and chunks',
    behavior: raw(`${ok}content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
    status: 200,
    error: /^connection: /,
  },
  {
    name: 'invalid chunks',
    behavior: raw(`${ok}transfer-encoding: chunked\r\n\r\nzz\r\nhello`),
    status: 200,
    error: /^connection: /,
  },
  { name: 'the end in the head', behavior: raw(`${ok}x: y`), status: 200, error: broken },
  { name: 'the end in the body', behavior: raw(`${ok}content-length: 9\r\n\r\nhalf`), status: 200, error: broken },
  {
    name: 'the end in a chunk',
    behavior: raw(`${ok}transfer-encoding: chunked\r\n\r\n9\r\nhalf`),
    status: 200,
    error: broken,
  },
  {
    name: 'a reset in the body',
    behavior: raw(`${ok}content-length: 9\r\n\r\nhalf`, 'reset'),
    status: 200,
    error: /^connection: /,
  },
  { name: 'the end', behavior: raw(''), status: 0, error: broken },
  { name: 'a reset', behavior: { kind: 'reset' }, status: 0, error: /^connection: / },
  {
    // It arrives while the connection is opened, or in the handshake, which cannot be completed.
    name: 'an immediate reset',
    listener: 'resetting',
    status: 0,
    error: /^(?:connect|tls): ECONNRESET after /,
    unread: true,
  },
  { name: 'a self-signed certificate', listener: 'selfSigned', status: 0, error: /^tls: /, unread: true },
  { name: 'old TLS', listener: 'oldTls', status: 0, error: /^tls: /, unread: true },
  { name: 'the end in the handshake', listener: 'closing', status: 0, error: /^tls: ECONNRESET after /, unread: true },
];

/** Cases that respond too late or never. */
export const lateCases: readonly HostileCase[] = [
  { name: 'never', behavior: { kind: 'silent' }, status: 0, error: noCompleteResponse },
  {
    name: 'the head only',
    behavior: raw(`${ok}content-length: 9\r\n\r\n`, 'keep'),
    status: 200,
    error: noCompleteResponse,
  },
  {
    name: 'one byte of head per second',
    behavior: { kind: 'drip', part: 'head' },
    status: 200,
    error: noCompleteResponse,
  },
  {
    name: 'one byte of body per second',
    behavior: { kind: 'drip', part: 'body' },
    status: 200,
    error: noCompleteResponse,
  },
  { name: 'a second too late', behavior: { kind: 'respond', afterMs: 11_000 }, status: 0, error: noCompleteResponse },
  {
    name: 'an endless handshake',
    listener: 'mute',
    status: 0,
    error: /^tls: timed out after (?:[5-9]|\d\d)\.\d s$/,
    unread: true,
  },
];
