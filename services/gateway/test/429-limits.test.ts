import { createRedisLimiter } from '@rms/limiter';
import { createLogger } from '@rms/service';
import { describeWith, testServer, waitUntil } from '@rms/testkit';
import { startGateway, type TestGateway } from './support/start-gateway.ts';

describe('429 rate_limit_exceeded and quota_exceeded', () => {
  let api: TestGateway | undefined;
  afterEach(() => api?.stop());

  test('past the rate limit a key gets 429; waiting Retry-After lets the next request in', async () => {
    api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '3', RATE_LIMIT_WINDOW_SECONDS: '3', MONTHLY_QUOTA: '0' } });
    const { value: key, workspaceId } = api.auth.newKey('admin');
    const get = () => (api as TestGateway).send('GET', '/v1/resources', { key });
    let answer = await get();
    expect(answer.headers['ratelimit-policy']).toBe('"rate";q=3;w=3');
    for (let i = 0; i < 10 && answer.status === 200; i += 1) answer = await get();
    expect(answer.body).toEqual({ error: { code: 'rate_limit_exceeded', message: expect.any(String), status: 429 } });
    expect(answer.headers['retry-after']).toBe('1');
    expect(answer.headers['x-ratelimit-remaining']).toBe('0');
    expect((await api.send('GET', '/v1/nothing', { key })).status).toBe(429);
    const other = api.auth.newKey('admin', { workspaceId });
    expect((await api.send('GET', '/v1/resources', { key: other.value })).status).toBe(200);
    await waitUntil(async () => (await get()).status === 200, {
      what: 'the limit to let a request in',
      timeoutMs: 3_000,
    });
  });

  test('past the monthly quota every key of the workspace gets 429 quota_exceeded', async () => {
    api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '0', MONTHLY_QUOTA: '2' } });
    const first = api.auth.newKey('admin');
    const second = api.auth.newKey('admin', { workspaceId: first.workspaceId });
    const headers: Record<string, string>[] = [];
    for (let i = 0; i < 2; i += 1) headers.push((await api.send('GET', '/v1/webhooks', { key: first.value })).headers);
    expect(headers.map((one) => one.ratelimit?.split(';t=')[0])).toEqual(['"month";r=1', '"month";r=0']);
    expect(headers[0]).not.toHaveProperty('x-ratelimit-limit');
    const { status, body, headers: refused } = await api.send('GET', '/v1/webhooks', { key: second.value });
    expect([status, body.error.code]).toEqual([429, 'quota_exceeded']);
    expect(Number(refused['retry-after'])).toBeGreaterThan(0);
    const other = api.auth.newKey('admin');
    expect((await api.send('GET', '/v1/webhooks', { key: other.value })).status).toBe(200);
  });

  test('requests without a valid key, and those that are refused for their scope, cost nothing', async () => {
    api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '1', RATE_LIMIT_WINDOW_SECONDS: '3600' } });
    const key = api.auth.newKey('read').value;
    for (let i = 0; i < 5; i += 1) {
      expect((await api.send('GET', '/v1/resources')).status).toBe(401);
      expect((await api.send('POST', '/v1/resources', { key, json: {} })).status).toBe(403);
    }
    expect((await api.send('GET', '/v1/resources', { key })).status).toBe(200);
  });

  test('a key and its plan may have limits of their own', async () => {
    api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '1000', MONTHLY_QUOTA: '0' } });
    const key = api.auth.newKey('read', {
      limits: { rateLimitRequests: 2n, rateLimitWindowSeconds: 3600n, monthlyQuota: 50n },
    });
    const get = () => (api as TestGateway).send('GET', '/v1/resources', { key: key.value });
    const { headers } = await get();
    expect(headers['ratelimit-policy']).toBe('"rate";q=2;w=3600, "month";q=50');
    expect((await get()).status).toBe(200);
    expect((await get()).status).toBe(429);
    await api.change(key, { limits: { rateLimitRequests: 0n } });
    // This one is still judged by the limits that were known; it brings the new ones.
    await get();
    expect((await get()).status).toBe(200);
    expect((await get()).headers).not.toHaveProperty('ratelimit-policy');
  });

  describeWith('redis', 'with Redis', () => {
    test('two gateways share one limit', async () => {
      const limits = { rateLimitRequests: 4, rateLimitWindowSeconds: 3600, monthlyQuota: 0, authFailureLimit: 0 };
      const limiter = () =>
        createRedisLimiter({
          url: testServer('redis'),
          log: createLogger({ name: 'test', level: 'silent' }),
          ...limits,
        });
      const env = { RATE_LIMIT_REQUESTS: '4', RATE_LIMIT_WINDOW_SECONDS: '3600', MONTHLY_QUOTA: '0' };
      api = await startGateway({ limiter: limiter(), env });
      const other = await startGateway({ limiter: limiter(), env });
      const { workspaceId, keyId, value } = api.auth.newKey('read');
      const twin = other.auth.newKey('read', { workspaceId, keyId, value });
      const statuses: number[] = [];
      for (let i = 0; i < 4; i += 1) {
        statuses.push((await api.send('GET', '/v1/resources', { key: value })).status);
        statuses.push((await other.send('GET', '/v1/resources', { key: twin.value })).status);
      }
      await other.stop();
      expect(statuses).toEqual([200, 200, 200, 200, 429, 429, 429, 429]);
    });
  });
});
