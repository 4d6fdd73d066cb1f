import { generateApiKey } from '@rms/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
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

  test('an address that sent too many wrong keys gets 429 with Retry-After, and auth is asked about few of them', async () => {
    await exhaust('192.0.2.1');
    const refused = await get(generateApiKey('live'), '192.0.2.1');
    expect(refused.body).toEqual({ error: { code: 'rate_limit_exceeded', message: expect.any(String), status: 429 } });
    expect(Number(refused.headers['retry-after'])).toBe(20);
    const { asked } = api.auth;
    const answers = await Promise.all(Array.from({ length: 100 }, () => get(generateApiKey('live'), '192.0.2.1')));
    expect(answers.filter(({ status }) => status !== 429)).toEqual([]);
    expect(api.auth.asked - asked).toBeLessThan(50);
    expect((await get(undefined, '192.0.2.1')).status).toBe(429);
    expect((await get('sk_live_typo', '192.0.2.1')).status).toBe(429);
  });

  test('a valid key passes from there all the same', async () => {
    await exhaust('192.0.2.1');
    expect((await get(generateApiKey('live'), '192.0.2.1')).status).toBe(429);
    expect((await get(api.auth.newKey('read').value, '192.0.2.1')).status).toBe(200);
  });

  test('a revoked or expired key is no guess: it gets 401 however often it is sent', async () => {
    const revoked = api.auth.newKey('read', { verdict: KeyVerdict.INVALID });
    const expired = api.auth.newKey('read', { verdict: KeyVerdict.EXPIRED });
    for (let i = 0; i < 10; i += 1) {
      expect((await get(revoked.value, '192.0.2.1')).status).toBe(401);
      expect((await get(expired.value, '192.0.2.1')).body.error.code).toBe('api_key_expired');
    }
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
