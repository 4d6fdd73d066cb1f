import { generateApiKey } from '@rms/api-key';
import { networkOf } from '../src/checks/failed-authentications.ts';
import { startGateway, type TestGateway } from './support/start-gateway.ts';

describe('429 after too many failed authentications', () => {
  let api: TestGateway;
  beforeEach(async () => {
    api = await startGateway({ env: { AUTH_FAILURE_LIMIT: '3', TRUSTED_PROXIES: '127.0.0.1' } });
  });
  afterEach(() => api.stop());

  const get = async (key: string | undefined, from: string) => {
    const headers = { 'X-Forwarded-For': from };
    return api.send('GET', '/v1/resources', key === undefined ? { headers } : { key, headers });
  };
  const exhaust = async (from: string) => {
    for (let i = 0; i < 3; i += 1) expect((await get(generateApiKey('live'), from)).status).toBe(401);
  };

  test('an address that sent too many wrong keys gets 429 with Retry-After, and auth is not asked any more', async () => {
    await exhaust('192.0.2.1');
    const refused = await get(generateApiKey('live'), '192.0.2.1');
    expect(refused.body).toEqual({ error: { code: 'rate_limit_exceeded', message: expect.any(String), status: 429 } });
    expect(Number(refused.headers['retry-after'])).toBe(20);
    const { asked } = api.auth;
    for (let i = 0; i < 5; i += 1) expect((await get(generateApiKey('live'), '192.0.2.1')).status).toBe(429);
    expect((await get(undefined, '192.0.2.1')).status).toBe(429);
    expect((await get('sk_live_typo', '192.0.2.1')).status).toBe(429);
    expect(api.auth.asked).toBe(asked);
  });

  test('a right key that this gateway does not know yet is not told from a wrong one', async () => {
    const key = api.auth.newKey('read');
    await exhaust('192.0.2.1');
    await get(generateApiKey('live'), '192.0.2.1');
    expect((await get(key.value, '192.0.2.1')).status).toBe(429);
  });

  test('other addresses, and keys that are in use, are not slowed down', async () => {
    const known = api.auth.newKey('read');
    expect((await get(known.value, '192.0.2.1')).status).toBe(200);
    await exhaust('192.0.2.1');
    expect((await get(generateApiKey('live'), '192.0.2.1')).status).toBe(429);
    expect((await get(known.value, '192.0.2.1')).status).toBe(200);
    expect((await get(generateApiKey('live'), '192.0.2.2')).status).toBe(401);
    expect((await get(api.auth.newKey('read').value, '192.0.2.2')).status).toBe(200);
  });

  test('the addresses of one /64 are one', async () => {
    for (const from of ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::3']) {
      expect((await get(generateApiKey('live'), from)).status).toBe(401);
    }
    expect((await get(generateApiKey('live'), '2001:db8::4')).status).toBe(429);
    expect((await get(generateApiKey('live'), '2001:db8:0:1::4')).status).toBe(401);
  });

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
  ])('the network of %s is %s', (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});
