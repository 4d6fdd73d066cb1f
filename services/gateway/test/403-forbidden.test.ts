import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('403 insufficient_scope and ip_not_allowed', () => {
  const api = perSuite(() => startGateway({ env: { TRUSTED_PROXIES: '127.0.0.1,10.0.0.0/8' } }));

  const endpoints = [
    ['read', 'GET', '/v1/resources'],
    ['read', 'GET', '/v1/resources/res_x'],
    ['read', 'GET', '/v1/events'],
    ['write', 'POST', '/v1/resources'],
    ['write', 'PATCH', '/v1/resources/res_x'],
    ['write', 'DELETE', '/v1/resources/res_x'],
    ['admin', 'GET', '/v1/webhooks'],
    ['admin', 'POST', '/v1/webhooks'],
    ['admin', 'GET', '/v1/webhooks/wh_x'],
    ['admin', 'PATCH', '/v1/webhooks/wh_x'],
    ['admin', 'DELETE', '/v1/webhooks/wh_x'],
    ['admin', 'POST', '/v1/webhooks/filter_test'],
    ['admin', 'POST', '/v1/webhooks/wh_x/pause'],
    ['admin', 'POST', '/v1/webhooks/wh_x/resume'],
    ['admin', 'POST', '/v1/webhooks/wh_x/rotate_secret'],
    ['admin', 'POST', '/v1/webhooks/wh_x/test'],
    ['admin', 'GET', '/v1/api_keys'],
    ['admin', 'POST', '/v1/api_keys'],
    ['admin', 'GET', '/v1/api_keys/key_x'],
    ['admin', 'PATCH', '/v1/api_keys/key_x'],
    ['admin', 'DELETE', '/v1/api_keys/key_x'],
    ['admin', 'POST', '/v1/api_keys/key_x/roll'],
    ['admin', 'GET', '/v1/workspace'],
    ['admin', 'GET', '/v1/audit_log'],
    ['admin', 'GET', '/v1/deliveries'],
    ['admin', 'GET', '/v1/deliveries/dlv_x'],
    ['admin', 'POST', '/v1/deliveries/dlv_x/redeliver'],
    ['admin', 'POST', '/v1/deliveries/dlv_x/cancel'],
    ['admin', 'GET', '/v1/replays'],
    ['admin', 'POST', '/v1/replays'],
    ['admin', 'GET', '/v1/replays/rpl_x'],
    ['admin', 'POST', '/v1/replays/rpl_x/cancel'],
    ['admin', 'GET', '/v1/requests'],
    ['admin', 'GET', '/v1/requests/request-1'],
  ] as const;

  test('each endpoint accepts keys of its scope and above, and checks the scope before the body', async () => {
    const ranks = ['read', 'write', 'admin'] as const;
    for (const scope of ranks) {
      const key = api.auth.newKey(scope).value;
      for (const [needed, method, path] of endpoints) {
        const response = await api.send(method, path, { key, ...(method === 'POST' ? { raw: '{' } : {}) });
        const allowed = ranks.indexOf(scope) >= ranks.indexOf(needed);
        expect([scope, method, path, response.status === 403]).toEqual([scope, method, path, !allowed]);
        if (!allowed) {
          expect(response.body).toEqual({
            error: {
              code: 'insufficient_scope',
              message: `Scope \`${needed}\` is required; this key has \`${scope}\`.`,
              status: 403,
            },
          });
        }
      }
    }
  });

  test('a request from outside the allowlist is rejected, and the message and the log name the address that was checked', async () => {
    const { value, keyId } = api.auth.newKey('admin', { allowedIps: ['192.0.2.0/24', '2001:db8::/32'] });
    const from = (forwarded: string) =>
      api.send('GET', '/v1/resources', { key: value, headers: { 'X-Forwarded-For': forwarded } });
    const refused = await from('192.0.2.1, 198.51.100.7, 10.1.1.1');
    expect(refused.status).toBe(403);
    const message =
      'The API key may not be used from 198.51.100.7. Add the address to its IP allowlist, or use another key.';
    expect(refused.body).toEqual({ error: { code: 'ip_not_allowed', message, status: 403 } });
    expect(api.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        request_id: refused.headers['x-request-id'],
        key_id: keyId,
        address: '198.51.100.7',
        determined_by: '10.1.1.1',
        peer: '127.0.0.1',
        reason: 'not a trusted proxy',
        forwarded_for: '192.0.2.1, 198.51.100.7, 10.1.1.1',
      }),
    );
    const long = await from(`${'x'.repeat(500)}, 198.51.100.8`);
    expect(api.lines.find((line) => line.request_id === long.headers['x-request-id'])).toMatchObject({
      address: '198.51.100.8',
      determined_by: '127.0.0.1',
      forwarded_for: 'x'.repeat(200),
    });
    expect((await from('198.51.100.7, 192.0.2.1, 10.1.1.1')).status).toBe(200);
    expect((await from('2001:DB8:0::1')).status).toBe(200);
    expect((await from('::ffff:192.0.2.9')).status).toBe(200);
  });

  test('without a valid entry in X-Forwarded-For, the address of the last trusted hop is used', async () => {
    const { value } = api.auth.newKey('admin', { allowedIps: ['127.0.0.1'] });
    for (const forwarded of ['', 'unknown', '192.0.2.1, not-an-address']) {
      const headers = { 'X-Forwarded-For': forwarded };
      expect((await api.send('GET', '/v1/resources', { key: value, headers })).status).toBe(200);
    }
  });

  test('a refusal by a cached verdict asks auth only if the key has changed', async () => {
    const { value: key } = api.auth.newKey('read');
    expect((await api.send('GET', '/v1/resources', { key })).status).toBe(200);
    const { lookups } = api.auth;
    for (let i = 0; i < 3; i += 1) expect((await api.send('DELETE', '/v1/resources/res_x', { key })).status).toBe(403);
    expect(api.auth.lookups).toBe(lookups);
  });

  test('the allowlist is checked before 404 and 405', async () => {
    const { value } = api.auth.newKey('admin', { allowedIps: ['192.0.2.1'] });
    expect((await api.send('GET', '/v1/nothing', { key: value })).status).toBe(403);
    expect((await api.send('PUT', '/v1/resources', { key: value })).status).toBe(403);
  });
});
