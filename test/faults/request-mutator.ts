import { seededRandom } from '@rms/testkit';
/** A request as bytes. */
export interface HostileRequest {
  readonly bytes: Buffer;
  /** Whether it is a complete HTTP request, which must get a response. */
  readonly whole: boolean;
  /** Whether its response has no body. */
  readonly noBody: boolean;
}

const names = [
  'name',
  'metadata',
  'type',
  'status',
  'url',
  'events',
  '__proto__',
  'constructor',
  'prototype',
  'id',
  '',
];
const strings = [
  'x',
  '',
  'active',
  'archived',
  'standard',
  '*',
  'resource.created',
  'https://example.com/hooks',
  'https://user:pw@example.com',
  'https://[::1]/',
  'http://169.254.169.254/latest',
  'javascript:alert(1)',
  "'; DROP TABLE resources; --",
  '{{7*7}}#{7*7}',
  '../../../../etc/passwd',
  '<script>alert(1)</script>',
  '\u0000',
  '\ud800',
  '\u202e\ufeff',
  '🎈'.repeat(300),
  'n'.repeat(5_000),
  '%s%n%x',
  '1e309',
  'res_00000000000000000000000000',
  'wh_00000000000000000000000000',
];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'SEARCH'];
const segments = [
  'v1',
  'V1',
  'resources',
  'webhooks',
  'events',
  'livez',
  'readyz',
  'docs',
  'openapi.json',
  '..',
  '.',
  '%2e%2e',
  '%00',
  '%zz',
  '%c0%af',
  '',
  '*',
  ';a=b',
  '__proto__',
  'res_00000000000000000000000000',
  'wh_7zzzzzzzzzzzzzzzzzzzzzzzzz',
  '%F0%9F%8E%88',
];
const parameters = ['per_page', 'after', 'cursor', 'sort', 'status', 'page', '__proto__', 'per_page[]', 'a[b][c]', ''];
const headerNames = [
  'X-Request-ID',
  'Idempotency-Key',
  'Accept',
  'Accept-Encoding',
  'Content-Encoding',
  'X-Forwarded-For',
  'X-Forwarded-Proto',
  'Forwarded',
  'Range',
  'If-None-Match',
  'Cookie',
  'Origin',
  'X-HTTP-Method-Override',
  'Upgrade',
  'TE',
  'Trailer',
  'Authorization',
  'Content-Type',
  'Host',
  '__proto__',
  'Expect',
];
const pathsOfApi = [
  '/v1/resources',
  '/v1/resources/res_00000000000000000000000000',
  '/v1/webhooks',
  '/v1/webhooks/wh_00000000000000000000000000',
  '/v1/events',
];

/**
 * Returns a generator of requests that start out valid and are mutated in many ways; the same seed gives the same
 * requests.
 */
export function createMutator(seed: number, key: string): () => HostileRequest {
  const random = seededRandom(seed);
  const below = (most: number) => Math.floor(random() * most);
  const chance = (share: number) => random() < share;
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  const times = <T>(most: number, make: () => T): T[] => Array.from({ length: below(most + 1) }, make);

  const value = (depth: number): unknown => {
    const kind = below(depth > 0 ? 8 : 6);
    if (kind < 3) return pick(strings);
    if (kind === 3) return pick([0, -1, 1.5, 1e308, Number.MAX_SAFE_INTEGER, true, false]);
    if (kind === 4) return null;
    if (kind === 5) return pick([[], {}, ['*'], { k: 'v' }]);
    if (kind === 6) return times(4, () => value(depth - 1));
    return Object.fromEntries(times(5, () => [pick([...names, ...strings]), value(depth - 1)]));
  };
  const text = () => {
    if (chance(0.02)) return pick(['[', '{"a":', '"', '[1,']).repeat(below(60_000));
    if (chance(0.01)) return `{"name":"${'x'.repeat(300_000)}"}`;
    if (chance(0.02)) return `{"name":"x","metadata":{${times(2_000, () => `"k${below(1e9)}":"v"`).join(',')}}}`;
    if (chance(0.15)) return pick(['{"name":"fine"}', '{"url":"https://example.com/","events":["*"]}']);
    // Built as text, because an object literal cannot have an own __proto__ key.
    const fields = times(5, () => `${JSON.stringify(pick(names))}:${JSON.stringify(value(3))}`);
    return `{${fields.join(',')}}`;
  };
  const damaged = (bytes: Buffer) => {
    const copy = Buffer.from(bytes);
    for (let i = 1 + below(6); i > 0 && copy.length > 0; i -= 1) copy[below(copy.length)] = below(256);
    return copy;
  };
  const path = () => {
    if (chance(0.01)) return `/${'a'.repeat(8_000 + below(500))}`;
    const start = chance(0.7) ? pick(pathsOfApi) : `/${times(5, () => pick(segments)).join('/')}`;
    const query = times(3, () => `${pick(parameters)}=${encodeURIComponent(pick(strings).replace(/\ud800/, ''))}`);
    return query.length > 0 && chance(0.4) ? `${start}?${query.join('&')}`.slice(0, 9_000) : start;
  };
  const headerLine = () => {
    const shown = chance(0.7)
      ? pick(strings)
          .slice(0, 500)
          .replace(/[^\x20-\x7e]/g, '?')
      : String.fromCharCode(...times(30, () => 33 + below(94)));
    return `${pick(headerNames)}: ${shown}`;
  };

  return () => {
    const target = chance(0.01) ? pick(['*', 'http://example.com/v1/resources', '//v1/resources', '/\\v1']) : path();
    const method = chance(0.6) ? pick(['GET', 'POST', 'PATCH', 'DELETE']) : pick(methods);
    const plain = chance(0.3);
    const withBody = chance(method === 'GET' ? 0.1 : 0.9);
    const created = Buffer.from(withBody ? text() : '');
    const body = chance(0.1) ? damaged(created) : created;
    const chunked = withBody && chance(0.15);
    const extra = plain ? [] : times(3, headerLine);
    const lines = [
      `${method} ${target} HTTP/1.1`,
      'Host: localhost',
      ...(chance(0.95)
        ? [`Authorization: Bearer ${chance(0.97) ? key : damaged(Buffer.from(key)).toString('base64')}`]
        : []),
      ...(withBody
        ? [`Content-Type: ${chance(0.95) ? 'application/json' : pick(['text/plain', 'application/json;charset=x'])}`]
        : []),
      ...(chunked ? ['Transfer-Encoding: chunked'] : withBody ? [`Content-Length: ${body.length}`] : []),
      ...extra,
      ...(chance(0.01) ? times(150, () => `X-Many-${below(1e6)}: 1`) : []),
      ...(chance(0.005) ? [`X-Long: ${'x'.repeat(17_000)}`] : []),
      'Connection: close',
    ];
    const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
    const framed = chunked
      ? Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n0\r\n\r\n')])
      : body;
    const bytes = Buffer.concat([head, chunked && body.length === 0 ? Buffer.from('0\r\n\r\n') : framed]);
    if (chance(0.9)) return { bytes, whole: true, noBody: method === 'HEAD' };
    // Invalid HTTP: changed, truncated or doubled bytes.
    const wire = pick([
      () => damaged(bytes),
      () => bytes.subarray(0, below(bytes.length)),
      () => Buffer.concat([damaged(head), framed]),
      () => Buffer.concat([bytes, bytes]),
      () => Buffer.from(times(400, () => below(256))),
    ])();
    return { bytes: wire, whole: false, noBody: true };
  };
}
