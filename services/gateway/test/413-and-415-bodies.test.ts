import { once } from 'node:events';
import { connect } from 'node:net';
import { startGateway, type TestGateway } from './support/start-gateway.ts';
import { parseAnswer, sendBytes } from './support/wire.ts';

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

  test('a body of exactly the limit is read', async () => {
    expect((await api.send('POST', '/v1/resources', { key, raw: bodyOf(limit) })).status).toBe(201);
  });

  test('a body that says that it is too large is refused before it is read', async () => {
    const answer = parseAnswer(
      await sendBytes(api.gateway.addresses.live, start(`Content-Length: ${limit + 1}`), Boolean),
    );
    expect([answer.status, answer.body.error.code]).toEqual([413, 'payload_too_large']);
    expect((await api.send('POST', '/v1/resources', { key, raw: bodyOf(limit + 1) })).status).toBe(413);
  });

  test('a streamed body is refused where it passes the limit, and the connection goes on', async () => {
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    const next = `GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
    const text = await sendBytes(
      api.gateway.addresses.live,
      `${start('Transfer-Encoding: chunked')}${chunk.repeat(8)}0\r\n\r\n${next}`,
    );
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  test('a client that waits for 100 Continue is told to go on only after its key was accepted', async () => {
    const json = '{"name":"x"}';
    const socket = connect(Number(new URL(api.gateway.addresses.live).port), '127.0.0.1');
    socket.write(start('Expect: 100-continue', `Content-Length: ${json.length}`, 'Connection: close'));
    const [first] = (await once(socket, 'data')) as [Buffer];
    expect(first.toString()).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    socket.write(json);
    const [second] = (await once(socket, 'data')) as [Buffer];
    expect(parseAnswer(second.toString()).status).toBe(201);
    const refused = start('Expect: 100-continue', 'Content-Length: 12').replace(key, 'none');
    expect(parseAnswer(await sendBytes(api.gateway.addresses.live, refused)).status).toBe(401);
  });

  test('another expectation is ignored', async () => {
    const text = await sendBytes(
      api.gateway.addresses.live,
      'GET /livez HTTP/1.1\r\nHost: localhost\r\nExpect: the-best\r\nConnection: close\r\n\r\n',
    );
    expect(parseAnswer(text).status).toBe(200);
  });

  test.each([
    { 'Content-Type': 'text/plain' },
    { 'Content-Type': '' },
    { 'Content-Type': 'json' },
    { 'Content-Type': 'application/jsonp' },
    { 'Content-Type': 'application/json; charset=latin1' },
    { 'Content-Type': 'application/merge-patch+json' },
    { 'Content-Encoding': 'gzip' },
  ])('%p is refused', async (headers) => {
    const { status, body } = await api.send('POST', '/v1/resources', { key, raw: '{"name":"x"}', headers });
    expect([status, body]).toEqual([
      415,
      { error: { code: 'unsupported_media_type', message: expect.any(String), status: 415 } },
    ]);
  });

  test('a body without a content type is refused, no body as well', async () => {
    const bare = start('Content-Length: 12', 'Connection: close').replace('Content-Type: application/json\r\n', '');
    expect(parseAnswer(await sendBytes(api.gateway.addresses.live, `${bare}{"name":"x"}`)).status).toBe(415);
    expect((await api.send('PATCH', '/v1/resources/res_x', { key })).status).toBe(415);
  });

  test.each([
    { 'Content-Type': 'application/json; charset=utf-8' },
    { 'Content-Type': 'Application/JSON;charset="UTF-8"' },
    { 'Content-Encoding': 'identity' },
  ])('%p is read', async (headers) => {
    expect((await api.send('POST', '/v1/resources', { key, raw: '{"name":"x"}', headers })).status).toBe(201);
  });

  test('a body that ends early makes nothing, and the gateway goes on', async () => {
    const before = api.resources.created.length;
    const socket = connect(Number(new URL(api.gateway.addresses.live).port), '127.0.0.1');
    socket.write(`${start('Content-Length: 100')}{"name":`);
    await once(socket, 'connect');
    const asked = api.auth.asked;
    socket.end();
    await once(socket.resume(), 'close');
    expect(asked).toBeLessThanOrEqual(api.auth.asked);
    expect((await api.send('GET', '/livez')).status).toBe(200);
    expect(api.resources.created.length).toBe(before);
  });
});
