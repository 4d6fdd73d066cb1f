import { once } from 'node:events';
import { connect } from 'node:net';
import { securityHeaders } from '@rms/http';
import { waitUntil } from '@rms/testkit';
import { startGateway, type TestGateway } from './support/start-gateway.ts';
import { parseAnswer, sendBytes } from './support/wire.ts';

describe('What is no HTTP request', () => {
  let api: TestGateway;
  beforeAll(async () => {
    api = await startGateway();
  });
  afterAll(() => api.stop());

  test.each([
    ['garbage', 'garbage\r\n\r\n', 400, 'invalid_request'],
    ['a TLS hello', Buffer.from('16030100a5010000a10303', 'hex'), 400, 'invalid_request'],
    ['an unknown method', 'BREW /v1/resources HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['another protocol', 'GET / HTTP/3.0\r\nHost: x\r\n\r\n', 400, 'invalid_request'],
    ['a broken header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400, 'invalid_request'],
    [
      'two ways to say the length',
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
      'headers past 16 KiB',
      `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['a long path', `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 405, 'method_not_allowed'],
  ])('%s is answered in the form of every error, with an X-Request-ID', async (_, bytes, status, code) => {
    const answer = parseAnswer(await sendBytes(api.gateway.addresses.live, bytes));
    expect([answer.status, answer.body.error.code, answer.body.error.status]).toEqual([status, code, status]);
    expect(answer.headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/);
    expect(answer.headers.connection).toBe('close');
    const security = securityHeaders.map(([name, value]) => [name.toLowerCase(), value]);
    expect(answer.headers).toMatchObject(Object.fromEntries(security));
    expect(Number(answer.headers['content-length'])).toBe(Buffer.byteLength(answer.text));
  });

  test('an Upgrade is not taken up', async () => {
    const text = await sendBytes(
      api.gateway.addresses.live,
      'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
      (received) => received.includes('alive'),
    );
    expect(parseAnswer(text).status).toBe(200);
  });

  test('HTTP/1.0 without a Host is served', async () => {
    expect(parseAnswer(await sendBytes(api.gateway.addresses.live, 'GET /livez HTTP/1.0\r\n\r\n')).status).toBe(200);
  });

  test('garbage after a request does not spoil the answer to it', async () => {
    const key = api.auth.newKey('admin').value;
    const text = await sendBytes(
      api.gateway.addresses.live,
      `GET /v1/resources HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n\u0001\u0002garbage\r\n\r\n`,
    );
    expect(text.match(/HTTP\/1\.1 \d+/g)).toHaveLength(1);
    expect(parseAnswer(text).headers['x-request-id']).toMatch(/^req_/);
  });

  test('what follows the last request of a connection is not answered', async () => {
    const last = 'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    for (const rest of ['garbage\r\n\r\n', last, '\0']) {
      const text = await sendBytes(api.gateway.addresses.live, last + rest);
      expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
    }
  });

  test('a client that goes away while its answer is made is no error of ours', async () => {
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
    await waitUntil(() => ended === 1, { what: 'the call to be cancelled' });
    api.resources.before = async () => {};
    await waitUntil(() => api.lines.some((line) => line.request_id === 'gone-client'), { what: 'its line' });
    const lines = api.lines.filter((line) => line.request_id === 'gone-client');
    expect(lines).toEqual([expect.objectContaining({ level: 'info', aborted: true })]);
  });

  test('a client that closes without a request gets nothing, and the gateway goes on', async () => {
    const socket = connect(Number(new URL(api.gateway.addresses.live).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.destroy();
    expect((await api.send('GET', '/livez')).status).toBe(200);
  });
});
