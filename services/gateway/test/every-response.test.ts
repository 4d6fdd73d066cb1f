import { securityHeaders } from '@rms/net/http';
import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';
import { send } from './support/wire.ts';

describe('Every response', () => {
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('write'));

  const requests = [
    ['GET', '/v1/resources', {}],
    ['POST', '/v1/resources', { json: { name: 'x' } }],
    ['POST', '/v1/resources', { raw: '{' }],
    ['GET', '/v1/webhooks', {}],
    ['GET', '/v1/events', {}],
    ['GET', '/v1/nothing', {}],
    ['PUT', '/v1/resources', {}],
    ['GET', '/nothing', {}],
    ['GET', '/livez', {}],
    ['GET', '/healthz', {}],
    ['GET', '/readyz', {}],
    ['GET', '/openapi.json', {}],
    ['GET', '/docs', {}],
    ['GET', '/docs/scalar.js', {}],
    ['HEAD', '/v1/resources', {}],
  ] as const;

  test('has a unique X-Request-ID', async () => {
    const ids = new Set<string>();
    for (const [method, path, options] of requests) {
      for (const withKey of [{}, { key }]) {
        const { headers } = await send(api.gateway.addresses.live, method, path, { ...options, ...withKey });
        expect(headers['x-request-id']).toMatch(/^req_[0-9a-z]{26}$/);
        ids.add(headers['x-request-id'] as string);
      }
    }
    expect(ids.size).toBe(requests.length * 2);
  });

  test.each(['my-request-1', 'a'.repeat(128), 'A._+/=-z'])('keeps a well-formed X-Request-ID (%#)', async (sent) => {
    const { headers } = await api.send('GET', '/v1/nothing', { headers: { 'X-Request-ID': sent } });
    expect(headers['x-request-id']).toBe(sent);
  });

  test.each(['short', 'a'.repeat(129), 'with space', '<script>', 'caf\u00e9-12345', ''])(
    'replaces an invalid X-Request-ID (%#)',
    async (sent) => {
      const { headers } = await api.send('GET', '/v1/nothing', { headers: { 'X-Request-ID': sent } });
      expect(headers['x-request-id']).toMatch(/^req_/);
    },
  );

  test('ignores a repeated X-Request-ID', async () => {
    const headers = { 'X-Request-ID': ['request-one', 'request-two'] };
    expect((await api.send('GET', '/livez', { headers })).headers['x-request-id']).toMatch(/^req_/);
  });

  test('has security headers, reveals no software and forbids caching', async () => {
    for (const [method, path, options] of requests) {
      const { headers } = await send(api.gateway.addresses.live, method, path, { key, ...options });
      expect(headers).not.toHaveProperty('x-powered-by');
      expect(headers).not.toHaveProperty('server');
      const {
        'Content-Security-Policy': policy,
        'Cache-Control': caching,
        ...same
      } = Object.fromEntries(securityHeaders);
      const isPage = path.startsWith('/docs');
      const isFile = isPage || path === '/openapi.json';
      expect(headers).toMatchObject(Object.fromEntries(Object.entries(same).map(([n, v]) => [n.toLowerCase(), v])));
      expect(headers['cache-control']).toBe(isFile ? 'no-cache' : caching);
      const pagePolicy = expect.stringMatching(/^default-src 'none'; script-src 'self';/);
      expect(headers['content-security-policy']).toEqual(isPage ? pagePolicy : policy);
      expect(headers).not.toHaveProperty('strict-transport-security');
    }
  });

  test('has Strict-Transport-Security only if a trusted proxy was called over HTTPS', async () => {
    const proxied = await startGateway({ env: { TRUSTED_PROXIES: '127.0.0.1' } });
    const https = { headers: { 'X-Forwarded-Proto': 'https' } };
    const header = 'strict-transport-security';
    expect((await proxied.send('GET', '/v1/resources', https)).headers[header]).toBe('max-age=63072000');
    expect((await proxied.send('GET', '/livez')).headers).not.toHaveProperty(header);
    expect((await api.send('GET', '/livez', https)).headers).not.toHaveProperty(header);
    await proxied.stop();
  });

  test('a URL longer than 8 KiB gets 414 before any other check', async () => {
    const fit = `/v1/resources?${'x'.repeat(8 * 1024 - 14)}`;
    expect((await api.send('GET', fit, { key })).status).toBe(400);
    for (const path of [`${fit}x`, `/v1/resources/${'x'.repeat(9_000)}`, `/${'x'.repeat(9_000)}`]) {
      const { status, body } = await send(api.gateway.addresses.live, 'GET', path);
      expect([status, body.error.code]).toEqual([414, 'uri_too_long']);
    }
  });

  test('more than a hundred headers get 431, and no header is dropped silently', async () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x${i}`, '']));
    // Host and Connection are sent as well.
    expect((await api.send('GET', '/livez', { headers: many(98) })).status).toBe(200);
    for (const count of [99, 2_000]) {
      const { status, body } = await send(api.gateway.addresses.live, 'GET', '/livez', { headers: many(count) });
      expect([status, body.error.code]).toEqual([431, 'headers_too_large']);
    }
  });

  test('is logged in one line, without key, query and body', async () => {
    const requestId = 'logged-request';
    const path = '/v1/resources?status=active&cursor=hidden';
    await api.send('GET', path, { key, headers: { 'X-Request-ID': requestId } });
    const lines = api.lines.filter((line) => line.request_id === requestId);
    expect(lines).toEqual([
      expect.objectContaining({
        level: 'info',
        method: 'GET',
        route: '/v1/resources',
        status: 200,
        duration_ms: expect.any(Number),
        key_id: expect.stringMatching(/^key_/),
      }),
    ]);
    const logged = JSON.stringify(api.lines);
    expect(logged).not.toContain(key.value);
    expect(logged).not.toContain('hidden');
  });
});
