import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { parseResponse, sendBytes } from './support/wire.ts';

describe('Behind a trusted proxy', () => {
  const api = perSuite(() => startGateway({ env: { TRUSTED_PROXIES: '127.0.0.0/8,10.0.0.0/8' } }));
  const key = perSuite(() => api.auth.newKey('admin'));
  beforeAll(async () => {
    api.resources.created.length = 0;
    for (const name of ['one', 'two']) await api.send('POST', '/v1/resources', { key, json: { name } });
  });

  /** Sends lines of a head; returns the response and the origin of its link. */
  async function list(target: string, ...lines: string[]) {
    const head = [
      `GET ${target} HTTP/1.1`,
      `Authorization: Bearer ${key.value}`,
      'Connection: close',
      ...lines,
      '\r\n',
    ].join('\r\n');
    const response = parseResponse(await sendBytes(api.gateway.addresses.live, head));
    const { next } = response.body.links ?? {};
    return { ...response, origin: next ? next.slice(0, next.indexOf('/v1/')) : '' };
  }
  const target = '/v1/resources?per_page=1';

  test.each([
    ['X-Forwarded-Proto: HTTPS'],
    ['X-Forwarded-Proto: https,https'],
    ['X-Forwarded-Proto: https', 'X-Forwarded-Proto: https'],
    ['X-Forwarded-For: 192.0.2.1, 10.0.0.2', 'X-Forwarded-Proto: https, http'],
    ['Forwarded: for="[2001:db8::1]:4711";proto=https;host=other.example.com'],
    ['Forwarded: for=192.0.2.1;proto=https', 'Forwarded: for=10.0.0.2;proto=http'],
  ])('%s %s: links and Strict-Transport-Security use https', async (...lines) => {
    const { status, origin, headers } = await list(target, 'Host: api.example.com', ...lines);
    expect([status, origin]).toEqual([200, 'https://api.example.com']);
    expect(headers['strict-transport-security']).toBe('max-age=63072000');
  });

  test.each([
    ['api.example.com:', 'http://api.example.com'],
    ['API.example.com:80', 'http://api.example.com'],
    ['api.example.com:8080', 'http://api.example.com:8080'],
    ['[2001:DB8::1]:', 'http://[2001:db8::1]'],
  ])('the link for Host: %s begins with %s', async (host, expected) => {
    const { status, origin } = await list(target, `Host: ${host}`);
    expect([status, origin]).toEqual([200, expected]);
  });

  test('the host of an absolute-form target replaces Host', async () => {
    const { status, origin } = await list(`http://api.example.com:${target}`, 'Host: other.example.com');
    expect([status, origin]).toEqual([200, 'http://api.example.com']);
  });

  test.each([
    ['no Host', 'http://api.example.com/v1/resources', []],
    ['an invalid Host', 'http://api.example.com/v1/resources', ['Host: a b']],
    ['no host in the target', 'http:///v1/resources', ['Host: api.example.com']],
    ['a user in the target', 'http://user@api.example.com/v1/resources', ['Host: api.example.com']],
    ['another scheme', 'ftp://api.example.com/v1/resources', ['Host: api.example.com']],
  ])('an absolute-form target with %s gets 400', async (_, absolute, lines) => {
    expect((await list(absolute, ...lines)).status).toBe(400);
  });
});
