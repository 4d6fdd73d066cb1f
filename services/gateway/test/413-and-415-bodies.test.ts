import { once } from 'node:events';
import { connect } from 'node:net';
import { startGateway, type TestGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

describe('413 payload_too_large and 415 unsupported_media_type', () => {
  let api: TestGateway;
  let key: string;
  beforeAll(async () => {
    api = await startGateway();
    key = api.auth.newKey('admin').value;
  });
  afterAll(() => api.stop());

  const start = (...headers: string[]) =>
    [
      'POST /v1/resources HTTP/1.1',
      'Host: localhost',
      `Authorization: Bearer ${key}`,
      'Content-Type: application/json',
      ...headers,
      '\r\n',
    ].join('\r\n');
  const limit = 256 * 1024;
  const bodyOf = (length: number) => `{"name":"x"${' '.repeat(length - 12)}}`;

  test('a body of exactly the maximum size is accepted', async () => {
    expect((await api.send('POST', '/v1/resources', { key, raw: bodyOf(limit) })).status).toBe(201);
  });

  test('a body whose Content-Length exceeds the limit is rejected before it is read', async () => {
    const response = parseResponse(
      await sendBytes(api.gateway.addresses.live, start(`Content-Length: ${limit + 1}`), Boolean),
    );
    expect([response.status, response.body.error.code]).toEqual([413, 'payload_too_large']);
    expect((await api.send('POST', '/v1/resources', { key, raw: bodyOf(limit + 1) })).status).toBe(413);
  });

  test('a streamed body is rejected when it exceeds the limit, and the connection stays usable', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const next = `GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const text = await sendBytes(
      api.gateway.addresses.live,
      `${start('Transfer-Encoding: chunked')}${chunk.repeat(8)}0\r\n\r\n${next}`,
    );
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  test('a client that expects 100 Continue gets it only after authentication', async () => {
    const json = '{"name":"x"}';
    const socket = connect(Number(new URL(api.gateway.addresses.live).port), '127.0.0.1');
    socket.write(start('Expect: 100-continue', `Content-Length: ${json.length}`, 'Connection: close'));
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    socket.write(json);
    const [second] = (await once(socket, 'data')) as [Buffer];
    expect(parseResponse(second.toString()).status).toBe(201);
    const refused = start('Expect: 100-continue', 'Content-Length: 12').replace(key, 'none');
    expect(parseResponse(await sendBytes(api.gateway.addresses.live, refused)).status).toBe(401);
  });

  test('other expectations are ignored', async () => {
    const text = await sendBytes(
      api.gateway.addresses.live,
      'GET /livez HTTP/1.1\r\nHost: localhost\r\nExpect: the-best\r\nConnection: close\r\n\r\n',
    );
    expect(parseResponse(text).status).toBe(200);
  });

  test.each([
    { 'Content-Type': 'text/plain' },
    { 'Content-Type': '' },
    { 'Content-Type': 'json' },
    { 'Content-Type': 'application/jsonp' },
    { 'Content-Type': 'application/json; charset=latin1' },
    { 'Content-Type': 'application/merge-patch+json' },
    { 'Content-Encoding': 'gzip' },
  ])('%p is rejected', async (headers) => {
    const { status, body } = await api.send('POST', '/v1/resources', { key, raw: '{"name":"x"}', headers });
    expect([status, body]).toEqual([
      415,
      { error: { code: 'unsupported_media_type', message: expect.any(String), status: 415 } },
    ]);
  });

  test('a missing Content-Type is rejected, even without a body', async () => {
    const bare = start('Content-Length: 12', 'Connection: close').replace('Content-Type: application/json\r\n', '');
    expect(parseResponse(await sendBytes(api.gateway.addresses.live, `${bare}{"name":"x"}`)).status).toBe(415);
    expect((await api.send('PATCH', '/v1/resources/res_x', { key })).status).toBe(415);
  });

  test.each([
    { 'Content-Type': 'application/json; charset=utf-8' },
    { 'Content-Type': 'Application/JSON;charset="UTF-8"' },
    { 'Content-Encoding': 'identity' },
  ])('%p is accepted', async (headers) => {
    expect((await api.send('POST', '/v1/resources', { key, raw: '{"name":"x"}', headers })).status).toBe(201);
  });

  test('a truncated body creates nothing, and the gateway keeps working', async () => {
    const before = api.resources.created.length;
    const socket = connect(Number(new URL(api.gateway.addresses.live).port), '127.0.0.1');
    socket.write(`${start('Content-Length: 100')}{"name":`);
    await once(socket, 'connect');
    const lookups = api.auth.lookups;
    socket.end();
    await once(socket.resume(), 'close');
    expect(lookups).toBeLessThanOrEqual(api.auth.lookups);
    expect((await api.send('GET', '/livez')).status).toBe(200);
    expect(api.resources.created.length).toBe(before);
  });
});
