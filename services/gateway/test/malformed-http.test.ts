import { once } from 'node:events';
import { connect } from 'node:net';
import { securityHeaders } from '@rms/net/http';
import { perSuite, waitUntil } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

const tooLargeHead = 'The request line and the headers have more than 32 KiB in total.';

describe('Malformed HTTP', () => {
  const api = perSuite(startGateway);

  test.each([
    ['garbage', 'garbage\r\n\r\n', 400, 'invalid_request'],
    ['a TLS hello', Buffer.from('16030100a5010000a10303', 'hex'), 400, 'invalid_request'],
    ['an unknown method', 'BREW /v1/resources HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['another protocol', 'GET / HTTP/3.0\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['a broken header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400, 'invalid_request'],
    [
      'Content-Length and Transfer-Encoding',
      'POST /v1/resources HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'invalid_request',
    ],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
      400,
      'invalid_request',
    ],
    [
      'headers over 32 KiB',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['a long path', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 405, 'method_not_allowed'],
  ])('%s gets a standard error response with an X-Request-ID', async (_, bytes, status, code) => {
    const response = parseResponse(await sendBytes(api.gateway.addresses.live, bytes));
    expect([response.status, response.body.error.code, response.body.error.status]).toEqual([status, code, status]);
    expect(response.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/);
    expect(response.headers.connection).toBe('close');
    const security = securityHeaders.map(([name, value]) => [name.toLowerCase(), value]);
    expect(response.headers).toMatchObject(Object.fromEntries(security));
    expect(Number(response.headers['content-length'])).toBe(Buffer.byteLength(response.text));
  });

  test('headers of up to 32 KiB are accepted', async () => {
    const bytes = `GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Large: ${'x'.repeat(32_600)}\r\n\r\n`;
    expect(parseResponse(await sendBytes(api.gateway.addresses.live, bytes)).status).toBe(200);
  });

  test.each([
    ['a large header', `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`, tooLargeHead],
    ['a long path', `GET /${'x'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, tooLargeHead],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n', 'The method CONNECT is not supported.'],
  ])('the message names the limit or the method: %s', async (_, bytes, message) => {
    const { body } = parseResponse(await sendBytes(api.gateway.addresses.live, bytes));
    expect(body.error.message).toBe(message);
  });

  test.each([
    ['HTTP/2 with prior knowledge', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'is HTTP/2; send HTTP/1.1'],
    ['other data', 'garbage\r\n\r\n', 'is not well-formed HTTP/1.1'],
  ])('the details name the reason: %s', async (_, bytes, message) => {
    const { body } = parseResponse(await sendBytes(api.gateway.addresses.live, bytes));
    expect(body.error.details).toEqual([{ field: 'request', message }]);
  });

  test('long chunk extensions get 413, and the message names their limit', async () => {
    const head = [
      'POST /v1/resources HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${api.auth.newKey('write').value}`,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ];
    const bytes = `${head.join('\r\n')}\r\n\r\n1;${'x'.repeat(40_000)}\r\na\r\n`;
    const { status, body } = parseResponse(await sendBytes(api.gateway.addresses.live, bytes));
    expect([status, body.error.message]).toEqual([
      413,
      'The chunk extensions of the request body have more than 16 KiB.',
    ]);
  });

  test('an Upgrade is ignored', async () => {
    const text = await sendBytes(
      api.gateway.addresses.live,
      'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      (received) => received.includes('alive'),
    );
    expect(parseResponse(text).status).toBe(200);
  });

  test('HTTP/1.0 without a Host is served', async () => {
    expect(parseResponse(await sendBytes(api.gateway.addresses.live, 'GET /livez HTTP/1.0\r\n\r\n')).status).toBe(200);
  });

  test('garbage after a request does not affect its response', async () => {
    const key = api.auth.newKey('admin').value;
    const text = await sendBytes(
      api.gateway.addresses.live,
      `GET /v1/resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n\u0001\u0002garbage\r\n\r\n`,
    );
    expect(text.match(/HTTP\/1\.1 \d+/g)).toHaveLength(1);
    expect(parseResponse(text).headers['x-request-id']).toMatch(/^req_/);
  });

  test('data after the last request of a connection gets no response', async () => {
    const last = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    for (const rest of ['garbage\r\n\r\n', last, '\0']) {
      const text = await sendBytes(api.gateway.addresses.live, last + rest);
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    }
  });

  test('a client that disconnects during its request does not cause an error log', async () => {
    const key = api.auth.newKey('admin').value;
    let ended = 0;
    api.resources.before = (signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => {
          ended += 1;
          resolve();
        }),
      );
    const socket = connect(Number(new URL(api.gateway.addresses.live).port), '127.0.0.1');
    socket.write(
      `GET /v1/resources HTTP/1.1\r\nHost: x\r\nX-Request-ID: gone-client\r\nAuthorization: Bearer ${key}\r\n\r\n`,
    );
    const batches = api.resources.batches;
    await waitUntil(() => api.resources.batches > batches, { what: 'the call' });
    socket.destroy();
    await waitUntil(() => ended === 1, { what: 'the canceled call' });
    api.resources.before = async () => {};
    await waitUntil(() => api.lines.some((line) => line.request_id === 'gone-client'), { what: 'the log line' });
    const lines = api.lines.filter((line) => line.request_id === 'gone-client');
    expect(lines).toEqual([expect.objectContaining({ level: 'info', aborted: true })]);
  });

  test('a client that disconnects without a request gets no response, and the gateway keeps working', async () => {
    const socket = connect(Number(new URL(api.gateway.addresses.live).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    expect((await api.send('GET', '/livez')).status).toBe(200);
  });
});
