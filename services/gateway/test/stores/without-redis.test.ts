import { createRedisLimiter } from '@rms/limits';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { createLogger } from '@rms/runtime/logging';
import { describeWith, startRedis, waitUntil } from '@rms/testkit';
import { startGateway } from '../support/start-gateway.ts';

describeWith('redis-server', 'Without Redis', () => {
  test('every request asks auth, so revocation is immediate; after recovery the cache is used again', async () => {
    const redis = await startRedis();
    const limits = {
      rateLimitRequests: 1000,
      workspaceRateLimitRequests: 0,
      rateLimitWindowSeconds: 60,
      monthlyQuota: 0,
      authFailureLimit: 0,
    };
    const limiter = createRedisLimiter({
      url: redis.url,
      log: createLogger({ name: 'test', level: 'silent' }),
      ...limits,
    });
    const api = await startGateway({ limiter });
    // Confirms the revocation markers, as auth does.
    const confirming = setInterval(() => void limiter.confirmMarkers(async () => {}).catch(() => {}), 100);
    try {
      const key = api.auth.newKey('read');
      const get = () => api.send('GET', '/v1/resources', { key: key.value });
      const asksAuth = async () => {
        const before = api.auth.lookups;
        expect((await get()).status).toBe(200);
        return api.auth.lookups > before;
      };
      await waitUntil(async () => !(await asksAuth()), { what: 'the cache to be used' });
      await redis.kill();
      await waitUntil(asksAuth, { what: 'requests to ask auth' });
      expect(await asksAuth()).toBe(true);
      await redis.restart();
      await waitUntil(async () => !(await asksAuth()), { what: 'the cache to be used again' });
      await redis.kill();
      key.verdict = KeyVerdict.INVALID;
      await waitUntil(async () => (await get()).status === 401, { what: 'the rejection' });
    } finally {
      clearInterval(confirming);
      await api.stop();
      await redis.stop();
    }
  });
});
