import { createRedisLimiter } from '@rms/limits';
import { createLogger } from '@rms/runtime/logging';
import { describeWith, testServer } from '@rms/testkit';
import { startGateway } from '../support/start-gateway.ts';

describeWith('redis', '429 with Redis', () => {
  test('two gateways share one limit', async () => {
    const none = { workspaceRateLimitRequests: 0, monthlyQuota: 0, authFailureLimit: 0 };
    const limits = { ...none, rateLimitRequests: 4, rateLimitWindowSeconds: 3600 };
    const limiter = () =>
      createRedisLimiter({
        url: testServer('redis'),
        log: createLogger({ name: 'test', level: 'silent' }),
        ...limits,
      });
    const env = { RATE_LIMIT_REQUESTS: '4', RATE_LIMIT_WINDOW_SECONDS: '3600', MONTHLY_QUOTA: '0' };
    const api = await startGateway({ limiter: limiter(), env });
    const other = await startGateway({ limiter: limiter(), env });
    const { workspaceId, keyId, value } = api.auth.newKey('read');
    const sameKey = other.auth.newKey('read', { workspaceId, keyId, value });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      statuses.push((await api.send('GET', '/v1/resources', { key: value })).status);
      statuses.push((await other.send('GET', '/v1/resources', { key: sameKey.value })).status);
    }
    await Promise.all([api.stop(), other.stop()]);
    expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
  });
});
