import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

/** Requests with an ambiguous end, which two HTTP parsers could interpret differently. All of them must be rejected. */
describe('Requests that a proxy and the gateway could parse differently', () => {
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('admin'));

  const json = '{"name":"x"}';
  const chunked = (...chunks: string[]) => ['Transfer-Encoding: chunked', '', chunks.join('')].join('\r\n');
  const forms: [string, string][] = [
    ['Content-Length and Transfer-Encoding', `Content-Length: 12\r\n${chunked('c\r\n', json, '\r\n0\r\n\r\n')}`],
    ['Transfer-Encoding and Content-Length', `Transfer-Encoding: chunked\r\nContent-Length: 12\r\n\r\n0\r\n\r\n`],
    ['two lengths', `Content-Length: 12\r\nContent-Length: 5\r\n\r\n${json}`],
    ['the same length twice', `Content-Length: 12\r\nContent-Length: 12\r\n\r\n${json}`],
    ['a list of lengths', `Content-Length: 12, 12\r\n\r\n${json}`],
    ['a signed length', `Content-Length: +12\r\n\r\n${json}`],
    ['a negative length', `Content-Length: -1\r\n\r\n${json}`],
    ['a length in hexadecimal', `Content-Length: 0xc\r\n\r\n${json}`],
    ['a length beyond the number range', `Content-Length: 99999999999999999999999\r\n\r\n${json}`],
    ['an empty length', `Content-Length: \r\n\r\n${json}`],
    ['a space before the colon', `Content-Length : 12\r\n\r\n${json}`],
    ['a tab before the colon', `Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n`],
    ['a folded header', `X-A: 1\r\n folded\r\nContent-Length: 12\r\n\r\n${json}`],
    ['a folded Transfer-Encoding', `Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
    ['a folded first header', ` X-A: 1\r\nContent-Length: 12\r\n\r\n${json}`],
    ['an unknown coding', `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ['a coding after chunked', `Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a quoted coding', `Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n`],
    ['a vertical tab in the coding', `Transfer-Encoding: \vchunked\r\n\r\n0\r\n\r\n`],
    ['an invalid chunk size', chunked('zz\r\n', json, '\r\n0\r\n\r\n')],
    ['a chunk size with a sign', chunked('+c\r\n', json, '\r\n0\r\n\r\n')],
    ['a chunk size with a prefix', chunked('0xc\r\n', json, '\r\n0\r\n\r\n')],
    ['a chunk size beyond the number range', chunked('ffffffffffffffff0c\r\n', json, '\r\n0\r\n\r\n')],
    ['a chunk longer than its size', chunked('3\r\n', json, '\r\n0\r\n\r\n')],
    ['a chunk size that ends in LF', chunked('c\n', json, '\r\n0\r\n\r\n')],
    ['a chunk that ends in LF', chunked('c\r\n', json, '\n0\r\n\r\n')],
    ['a NUL in a header', `X-A: a\0b\r\nContent-Length: 12\r\n\r\n${json}`],
    ['a bare CR in a header', `X-A: a\rb\r\nContent-Length: 12\r\n\r\n${json}`],
    ['a bare CR at the end of a header', `X-A: a\rContent-Length: 12\r\n\r\n${json}`],
    ['a bare LF at the end of a header', `X-A: a\nContent-Length: 12\r\n\r\n${json}`],
    ['bare LFs at the end of the head', `Content-Length: 12\n\n${json}`],
    ['a header without a name', `: 12\r\n\r\n${json}`],
    ['a header without a colon', `Content-Length 12\r\n\r\n${json}`],
    ['a header name that is not a token', `Content Length: 12\r\n\r\n${json}`],
  ];

  test.each(forms)('%s is rejected, and data after it gets no response', async (_, rest) => {
    const created = api.resources.created.length;
    const head = `POST /v1/resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.value}\r\nContent-Type: application/json\r\n`;
    const hidden = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    const text = await sendBytes(api.gateway.addresses.live, `${head}${rest}${hidden}`);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toHaveLength(1);
    const response = parseResponse(text);
    expect([response.status, response.body.error.code]).toEqual([400, 'invalid_request']);
    expect(response.headers['x-request-id']).toMatch(/^req_/);
    expect(response.headers['x-content-type-options']).toBe('nosniff');
    expect(api.resources.created.length).toBe(created);
  });

  test.each(['gzip, chunked', 'GZIP,chunked', 'chunked, chunked'])(
    'Transfer-Encoding: %s is rejected',
    async (coding) => {
      const created = api.resources.created.length;
      const head = `POST /v1/resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.value}\r\nContent-Type: application/json\r\n`;
      const rest = `Connection: close\r\nTransfer-Encoding: ${coding}\r\n\r\nc\r\n${json}\r\n0\r\n\r\n`;
      const { status } = parseResponse(await sendBytes(api.gateway.addresses.live, head + rest));
      expect([status, api.resources.created.length]).toEqual([400, created]);
    },
  );

  test.each([
    ['Host', 'other.example'],
    ['Authorization', 'Bearer none'],
    ['content-type', 'text/plain'],
    ['Content-Encoding', 'identity\r\nContent-Encoding: gzip'],
    ['Idempotency-Key', 'one\r\nidempotency-key: two'],
  ])('a second %s is rejected', async (name, value) => {
    const head = `POST /v1/resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key.value}\r\nContent-Type: application/json\r\n`;
    const rest = `${name}: ${value}\r\nConnection: close\r\nContent-Length: 12\r\n\r\n${json}`;
    const { status, body } = parseResponse(await sendBytes(api.gateway.addresses.live, head + rest));
    expect([status, body.error.details]).toEqual([
      400,
      [{ field: expect.stringMatching(new RegExp(name, 'i')), message: 'is repeated' }],
    ]);
  });
});
