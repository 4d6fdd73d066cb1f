import { waitUntil } from '@rms/testkit';
import { startGateway, type TestGateway } from './support/start-gateway.ts';

describe('429 rate_limit_exceeded and quota_exceeded', () => {
  let api: TestGateway | undefined;
  afterEach(() => api?.stop());

  test('a key over the rate limit gets 429, and other keys do not', async () => {
    const env = { RATE_LIMIT_REQUESTS: '3', RATE_LIMIT_WINDOW_SECONDS: '3600', MONTHLY_QUOTA: '0' };
    api = await startGateway({ env });
    const { value: key, workspaceId } = api.auth.newKey('admin');
    const get = () => (api as TestGateway).send('GET', '/v1/resources', { key });
    expect((await get()).headers['ratelimit-policy']).toBe('"rate";q=3;w=3600, "workspace";q=60000;w=3600');
    await get();
    await get();
    const { body, headers } = await get();
    const retryAfter = Number(headers['retry-after']);
    expect(retryAfter).toBeGreaterThan(1_000);
    expect(retryAfter).toBeLessThanOrEqual(1_200);
    const resetAfter = Number(headers['x-ratelimit-reset']);
    const message = `Rate limit reached: 3 requests per 3600 s for this key (resets in ${resetAfter} s). Retry in ${retryAfter} s.`;
    expect(body).toEqual({ error: { code: 'rate_limit_exceeded', message, status: 429 } });
    expect(headers['x-ratelimit-remaining']).toBe('0');
    expect((await api.send('GET', '/v1/nothing', { key })).status).toBe(429);
    const other = api.auth.newKey('admin', { workspaceId });
    expect((await api.send('GET', '/v1/resources', { key: other.value })).status).toBe(200);
  });

  test('after Retry-After the next request is accepted', async () => {
    api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '3', RATE_LIMIT_WINDOW_SECONDS: '3' } });
    const { value: key } = api.auth.newKey('admin');
    const get = () => (api as TestGateway).send('GET', '/v1/resources', { key });
    const responses = await Promise.all(Array.from({ length: 30 }, get));
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    await waitUntil(async () => (await get()).status === 200, {
      what: 'an accepted request',
    });
  });

  test('over the monthly quota every key of the workspace gets 429 quota_exceeded', async () => {
    api = await startGateway({
      env: { RATE_LIMIT_REQUESTS: '0', WORKSPACE_RATE_LIMIT_REQUESTS: '0', MONTHLY_QUOTA: '2' },
    });
    const first = api.auth.newKey('admin');
    const second = api.auth.newKey('admin', { workspaceId: first.workspaceId });
    const headers: Record<string, string>[] = [];
    for (let i = 0; i < 2; i += 1) headers.push((await api.send('GET', '/v1/webhooks', { key: first.value })).headers);
    expect(headers.map((one) => one.ratelimit?.split(';t=')[0])).toEqual(['"month";r=1', '"month";r=0']);
    expect(headers[0]).not.toHaveProperty('x-ratelimit-limit');
    const { status, body, headers: refused } = await api.send('GET', '/v1/webhooks', { key: second.value });
    expect([status, body.error.code]).toEqual([429, 'quota_exceeded']);
    const message = 'The monthly quota of 2 requests of this workspace and environment is exhausted. It resets on ';
    expect(body.error.message.startsWith(message)).toBe(true);
    expect(body.error.message.slice(message.length)).toMatch(/^\d{4}-\d{2}-01\.$/);
    expect(Object.keys(body.error).sort()).toEqual(['code', 'message', 'status']);
    expect(Number(refused['retry-after'])).toBeGreaterThan(0);
    const other = api.auth.newKey('admin');
    expect((await api.send('GET', '/v1/webhooks', { key: other.value })).status).toBe(200);
  });

  test('requests without a valid key or without the required scope do not count toward limits of accepted ones', async () => {
    const env = { RATE_LIMIT_REQUESTS: '5', RATE_LIMIT_WINDOW_SECONDS: '3600', MONTHLY_QUOTA: '5' };
    api = await startGateway({ env });
    const key = api.auth.newKey('read').value;
    for (let i = 0; i < 5; i += 1) {
      expect((await api.send('GET', '/v1/resources')).status).toBe(401);
      expect((await api.send('POST', '/v1/resources', { key, json: {} })).status).toBe(403);
    }
    for (let i = 0; i < 5; i += 1) expect((await api.send('GET', '/v1/resources', { key })).status).toBe(200);
  });

  test('requests outside the scope or the allowlist have a rate limit of their own', async () => {
    api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '2', RATE_LIMIT_WINDOW_SECONDS: '3600' } });
    const { send, auth } = api;
    const scoped = auth.newKey('read').value;
    const outside = auth.newKey('admin', { allowedIps: ['192.0.2.1'] }).value;
    for (const refused of [
      () => send('POST', '/v1/resources', { key: scoped, json: {} }),
      () => send('GET', '/v1/resources', { key: outside }),
    ]) {
      const statuses = [(await refused()).status, (await refused()).status];
      expect(statuses).toEqual([403, 403]);
      const { lookups } = auth;
      const { status, body, headers } = await refused();
      expect([status, body.error.code, Number(headers['retry-after']) > 0]).toEqual([429, 'rate_limit_exceeded', true]);
      expect(body.error.message).toMatch(/^Rate limit reached: 2 requests per 3600 s for refused requests of this key/);
      expect(auth.lookups).toBe(lookups);
    }
    expect((await send('GET', '/v1/resources', { key: scoped })).status).toBe(200);
  });

  test('all keys of a workspace and environment share a limit', async () => {
    api = await startGateway({ env: { WORKSPACE_RATE_LIMIT_REQUESTS: '2', RATE_LIMIT_WINDOW_SECONDS: '3600' } });
    const { workspaceId, value } = api.auth.newKey('read');
    const get = (key: string) => (api as TestGateway).send('GET', '/v1/resources', { key });
    expect((await get(value)).headers.ratelimit).toContain('"workspace";r=1;t=1800');
    const keys = Array.from({ length: 2 }, () => (api as TestGateway).auth.newKey('read', { workspaceId }).value);
    const responses = await Promise.all(keys.map(get));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 429]);
    const refused = responses.find(({ status }) => status === 429);
    expect(refused?.body.error.code).toBe('rate_limit_exceeded');
    expect(refused?.body.error.message).toMatch(
      /^Rate limit reached: 2 requests per 3600 s for all keys of this workspace and environment \(resets in \d+ s\)\. Retry in \d+ s\.$/,
    );
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThan(1_700);
    expect((await get(api.auth.newKey('read').value)).status).toBe(200);
  });

  test.each<[string, { plan?: bigint; own?: bigint; limit: string | undefined }]>([
    ['lowers the limit of the installation', { own: 5n, limit: '5' }],
    ['does not raise the limit of the installation', { own: 2000n, limit: '1000' }],
    ['lowers the limit of the plan', { plan: 20n, own: 5n, limit: '5' }],
    ['does not raise the limit of the plan', { plan: 20n, own: 21n, limit: '20' }],
    ['applies to a plan without a limit', { plan: 0n, own: 5n, limit: '5' }],
    ['of 0 has no effect', { plan: 20n, own: 0n, limit: '20' }],
    ['can be absent, like the limit of the plan', { plan: 0n, limit: undefined }],
  ])("a key's own limit %s", async (_, { plan, own, limit }) => {
    api = await startGateway({ env: { RATE_LIMIT_REQUESTS: '1000' } });
    const key = api.auth.newKey('read', {
      limits: {
        ...(plan === undefined ? {} : { rateLimitRequests: plan }),
        ...(own === undefined ? {} : { keyRateLimitRequests: own }),
      },
    });
    const { headers } = await api.send('GET', '/v1/resources', { key: key.value });
    expect(headers['x-ratelimit-limit']).toBe(limit);
  });

  test('a plan can override the limits', async () => {
    const env = { RATE_LIMIT_REQUESTS: '1000', WORKSPACE_RATE_LIMIT_REQUESTS: '0', MONTHLY_QUOTA: '0' };
    api = await startGateway({ env });
    const key = api.auth.newKey('read', {
      limits: { rateLimitRequests: 2n, rateLimitWindowSeconds: 3600n, monthlyQuota: 50n },
    });
    const get = () => (api as TestGateway).send('GET', '/v1/resources', { key: key.value });
    const { headers } = await get();
    expect(headers['ratelimit-policy']).toBe('"rate";q=2;w=3600, "month";q=50');
    expect((await get()).status).toBe(200);
    expect((await get()).status).toBe(429);
    await api.change(key, { limits: { rateLimitRequests: 0n } });
    // This request is still counted against the cached limits. Its limit check finds the marker and loads the new
    // limits.
    await get();
    expect((await get()).status).toBe(200);
    expect((await get()).headers).not.toHaveProperty('ratelimit-policy');
  });
});
