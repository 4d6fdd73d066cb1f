import { generateApiKey } from '@rms/base/api-key';
import { createMemoryLimiter, type Limiter } from '@rms/limits';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { disposable, perTest } from '@rms/testkit';
import { FailedAuthentications } from '../src/checks/failed-authentications.ts';
import { startGateway } from './support/start-gateway.ts';

describe('429 after too many failed authentications', () => {
  const api = perTest(() => startGateway({ env: { AUTH_FAILURE_LIMIT: '3', TRUSTED_PROXIES: '127.0.0.1' } }));

  const get = async (key: string | undefined, from: string) => {
    const headers = { 'X-Forwarded-For': from };
    return api.send('GET', '/v1/resources', key === undefined ? { headers } : { key, headers });
  };
  const exhaust = async (from: string) => {
    for (let i = 0; i < 3; i += 1) expect((await get(generateApiKey('live'), from)).status).toBe(401);
  };

  test('an address with too many invalid keys gets 429 with Retry-After', async () => {
    await exhaust('192.0.2.1');
    const refused = await get(generateApiKey('live'), '192.0.2.1');
    const retryAfterSeconds = Number(refused.headers['retry-after']);
    const message = `Too many failed authentications from 192.0.2.1 (limit: 3 per minute). Retry in ${retryAfterSeconds} s.`;
    expect(refused.body).toEqual({ error: { code: 'rate_limit_exceeded', message, status: 429 } });
    expect(retryAfterSeconds).toBeGreaterThan(0);
    expect(retryAfterSeconds).toBeLessThanOrEqual(20);
    const responses = await Promise.all(Array.from({ length: 100 }, () => get(generateApiKey('live'), '192.0.2.1')));
    expect(responses.filter(({ status }) => status !== 429)).toEqual([]);
    expect((await get(undefined, '192.0.2.1')).status).toBe(429);
    expect((await get('sk_live_typo', '192.0.2.1')).status).toBe(429);
  });

  test('an address over its limit causes 10 lookups per second, and a lookup counts for its own address only', async () => {
    let nowMs = 5_000;
    const failures = new FailedAuthentications({ countFailure: async () => 20 }, 3, () => nowMs);
    const admitted = (address: string) => {
      const lookups = Array.from({ length: 100 }, () => {
        try {
          failures.admitLookup(address);
          return 1;
        } catch (error) {
          expect(error).toMatchObject({ code: 'rate_limit_exceeded', retryAfterSeconds: 1 });
          return 0;
        }
      });
      return lookups.filter(Boolean).length;
    };
    expect(admitted('192.0.2.1')).toBe(100);
    await expect(failures.count('192.0.2.1')).rejects.toMatchObject({ retryAfterSeconds: 20 });
    expect([admitted('192.0.2.1'), admitted('192.0.2.2')]).toEqual([10, 100]);
    nowMs += 1_000;
    expect(admitted('192.0.2.1')).toBe(10);
    nowMs += 19_000;
    expect(admitted('192.0.2.1')).toBe(100);
  });

  test('a valid key from the same address is still accepted', async () => {
    await exhaust('192.0.2.1');
    expect((await get(generateApiKey('live'), '192.0.2.1')).status).toBe(429);
    expect((await get(api.auth.newKey('read').value, '192.0.2.1')).status).toBe(200);
  });

  test('a revoked or expired key does not count as a guess and always gets 401', async () => {
    const revoked = api.auth.newKey('read', { verdict: KeyVerdict.INVALID });
    const expired = api.auth.newKey('read', { verdict: KeyVerdict.EXPIRED });
    for (let i = 0; i < 10; i += 1) {
      expect((await get(revoked.value, '192.0.2.1')).status).toBe(401);
      expect((await get(expired.value, '192.0.2.1')).body.error.code).toBe('api_key_expired');
    }
  });

  test('other addresses and cached keys are not affected', async () => {
    const known = api.auth.newKey('read');
    expect((await get(known.value, '192.0.2.1')).status).toBe(200);
    await exhaust('192.0.2.1');
    expect((await get(generateApiKey('live'), '192.0.2.1')).status).toBe(429);
    expect((await get(known.value, '192.0.2.1')).status).toBe(200);
    expect((await get(generateApiKey('live'), '192.0.2.2')).status).toBe(401);
    expect((await get(api.auth.newKey('read').value, '192.0.2.2')).status).toBe(200);
  });

  test('keys that were valid recently are looked up beyond the limit', async () => {
    let loseMarkers = () => {};
    const none = { rateLimitRequests: 0, workspaceRateLimitRequests: 0, rateLimitWindowSeconds: 60, monthlyQuota: 0 };
    const limiter: Limiter = {
      ...createMemoryLimiter({ ...none, authFailureLimit: 3 }),
      onMarkersLost(listener) {
        loseMarkers = listener;
        return () => {};
      },
    };
    await using other = disposable(await startGateway({ limiter, env: { TRUSTED_PROXIES: '127.0.0.1' } }));
    const headers = { 'X-Forwarded-For': '192.0.2.1' };
    const statusOf = async (key: string) => (await other.send('GET', '/v1/resources', { key, headers })).status;
    const keys = Array.from({ length: 20 }, () => other.auth.newKey('read').value);
    for (const key of keys) expect(await statusOf(key)).toBe(200);
    // Uses up the lookups that an address over its limit may cause.
    await Promise.all(Array.from({ length: 40 }, () => statusOf(generateApiKey('live'))));
    loseMarkers();
    expect(new Set(await Promise.all(keys.map(statusOf)))).toEqual(new Set([200]));
  });

  test('all addresses of a /64 count together', async () => {
    for (const from of ['2001:db8::1', '2001:db8::2', '2001:db8:0:0:ffff::3']) {
      expect((await get(generateApiKey('live'), from)).status).toBe(401);
    }
    expect((await get(generateApiKey('live'), '2001:db8::4')).status).toBe(429);
    expect((await get(generateApiKey('live'), '2001:db8:0:1::4')).status).toBe(401);
  });
});
