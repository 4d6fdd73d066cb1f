import { once } from 'node:events';
import { connect } from 'node:net';
import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

describe('413 payload_too_large and 415 unsupported_media_type', () => {
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('admin'));

  const start = (...headers: string[]) =>
    [
      'POST /v1/resources HTTP/1.1',
      'Host: localhost',
      `Authorization: Bearer ${key.value}`,
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
    const refused = start('Expect: 100-continue', 'Content-Length: 12').replace(key.value, 'none');
    expect(parseResponse(await sendBytes(api.gateway.addresses.live, refused)).status).toBe(401);
  });

  test.each(['the-best', '100-continue, the-best', 'x100-continue'])(
    'the expectation %s gets 417, and the body is not requested',
    async (expectation) => {
      const text = await sendBytes(
        api.gateway.addresses.live,
        start(`Expect: ${expectation}`, 'Content-Length: 12', 'Connection: close'),
      );
      const { status, body } = parseResponse(text);
      expect([status, body.error.code]).toEqual([417, 'expectation_failed']);
    },
  );

  test('an HTTP/1.0 client never gets 100 Continue, and its expectations are ignored', async () => {
    const json = '{"name":"x"}';
    for (const expectation of ['100-continue', 'the-best']) {
      const head = start(`Expect: ${expectation}`, `Content-Length: ${json.length}`).replace('HTTP/1.1', 'HTTP/1.0');
      const text = await sendBytes(api.gateway.addresses.live, head + json);
      expect(text.match(/HTTP\/1\.\d \d+/g)).toEqual(['HTTP/1.1 201']);
    }
  });

  test('a byte order mark at the start of the body is ignored, and kept within a text', async () => {
    const raw = Buffer.from('\ufeff{"name":"\ufeffx"}');
    const response = await api.send('POST', '/v1/resources', { key, raw });
    expect([response.status, response.body.data?.name]).toEqual([201, '\ufeffx']);
    for (const wrong of ['\ufeff', '\ufeff\ufeff{"name":"x"}', '{"name":"x"}\ufeff']) {
      expect((await api.send('POST', '/v1/resources', { key, raw: Buffer.from(wrong) })).status).toBe(400);
    }
  });

  test.each([
    { 'Content-Type': 'text/plain' },
    { 'Content-Type': '' },
    { 'Content-Type': 'json' },
    { 'Content-Type': 'application/jsonp' },
    { 'Content-Type': 'application/json; charset=latin1' },
    { 'Content-Type': 'application/merge-patch+json' },
    { 'Content-Type': 'application/json; charset' },
    { 'Content-Type': 'application/json; charset=utf-8; charset=latin1' },
    { 'Content-Type': 'application/json; charset="utf-8' },
    { 'Content-Type': 'application/json, application/json' },
  ])('%p is rejected, and the response names the accepted type', async (headers) => {
    const raw = '{"name":"x"}';
    const { status, body, headers: sent } = await api.send('POST', '/v1/resources', { key, raw, headers });
    const message = expect.stringMatching(/^The request body must be application\/json in UTF-8; Content-Type is `/);
    expect([status, body]).toEqual([415, { error: { code: 'unsupported_media_type', message, status: 415 } }]);
    expect(sent).toMatchObject({ accept: 'application/json' });
    expect(sent).not.toHaveProperty('accept-encoding');
    expect(sent).not.toHaveProperty('accept-patch');
  });

  test.each(['gzip', 'identity, br', 'x'])(
    'Content-Encoding: %s is rejected, and the response names the accepted encoding',
    async (encoding) => {
      const headers = { 'Content-Encoding': encoding };
      const response = await api.send('POST', '/v1/resources', { key, raw: '{"name":"x"}', headers });
      const message = `The request body must not be encoded; Content-Encoding is \`${encoding}\`.`;
      expect([response.status, response.body.error.message]).toEqual([415, message]);
      expect(response.headers).toMatchObject({ 'accept-encoding': 'identity' });
      expect(response.headers).not.toHaveProperty('accept');
    },
  );

  test('Accept-Patch names application/json: a merge patch has other semantics', async () => {
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const refused = await api.send('PATCH', '/v1/resources/res_x', { key, raw: '{}', headers });
    expect([refused.status, refused.headers['accept-patch']]).toEqual([415, 'application/json']);
    const options = await api.send('OPTIONS', '/v1/resources/res_x', { key });
    expect([options.status, options.headers['accept-patch']]).toEqual([405, 'application/json']);
    expect((await api.send('OPTIONS', '/v1/resources', { key })).headers).not.toHaveProperty('accept-patch');
  });

  test('a missing Content-Type is rejected, even without a body', async () => {
    const bare = start('Content-Length: 12', 'Connection: close').replace('Content-Type: application/json\r\n', '');
    expect(parseResponse(await sendBytes(api.gateway.addresses.live, `${bare}{"name":"x"}`)).status).toBe(415);
    expect((await api.send('PATCH', '/v1/resources/res_x', { key })).status).toBe(415);
  });

  test.each([
    { 'Content-Type': 'application/json; charset=utf-8' },
    { 'Content-Type': 'Application/JSON;charset="UTF-8"' },
    { 'Content-Type': 'application/json; charset=utf8' },
    { 'Content-Type': 'application/json ;\tcharset="u\\tf8"; profile="a;charset=latin1" ;' },
    { 'Content-Encoding': 'identity' },
    { 'Content-Encoding': '' },
    { 'Content-Encoding': 'Identity ,identity' },
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
