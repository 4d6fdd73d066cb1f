import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('2xx responses', () => {
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('admin'));

  const create = async (json: object = { name: 'One' }, headers = {}) =>
    (await api.send('POST', '/v1/resources', { key, json, headers })).body.data;

  test('POST /v1/resources forwards the caller, environment and request ID, and responds with 201', async () => {
    const response = await api.send('POST', '/v1/resources', {
      key,
      json: { name: 'Grüße', type: 'advanced', metadata: { b: '2', a: '1' } },
      headers: { 'X-Request-ID': 'my-request-1', 'Idempotency-Key': 'order 1' },
    });
    expect(response.status).toBe(201);
    expect(response.body.data).toMatchObject({ type: 'resource', status: 'active', name: 'Grüße' });
    const request = api.resources.created.at(-1);
    expect(request).toMatchObject({ name: 'Grüße', idempotencyKey: 'order 1', metadataJson: '{"b":"2","a":"1"}' });
    expect(request?.context).toMatchObject({ requestId: 'my-request-1', principal: { environment: 1 } });
    expect(response.headers).not.toHaveProperty('idempotency-replayed');
  });

  test('a replayed response has the Idempotency-Replayed header', async () => {
    const headers = { 'Idempotency-Key': 'replayed' };
    for (const [path, json] of [
      ['/v1/resources', { name: 'x' }],
      ['/v1/webhooks', { url: 'https://example.com/', events: ['*'] }],
    ] as const) {
      const response = await api.send('POST', path, { key, json, headers });
      expect([response.status, response.headers['idempotency-replayed']]).toEqual([201, 'true']);
    }
  });

  test('a response replayed to another key contains no secret', async () => {
    const json = { url: 'https://example.com/', events: ['*'] };
    const response = await api.send('POST', '/v1/webhooks', {
      key,
      json,
      headers: { 'Idempotency-Key': 'of another key' },
    });
    expect([response.status, response.headers['idempotency-replayed']]).toEqual([201, 'true']);
    expect(response.body.data).toMatchObject({ url: json.url, events: ['*'] });
    expect(response.body.data).not.toHaveProperty('secret');
  });

  test('HEAD responds like GET, without the body', async () => {
    const { id } = await create();
    const get = await api.send('GET', `/v1/resources/${id}`, { key });
    const head = await api.send('HEAD', `/v1/resources/${id}`, { key });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  });

  test('a new webhook is subject to the webhook limit of the plan, if the plan sets one', async () => {
    const json = { url: 'https://example.com/', events: ['*'] };
    for (const limits of [{ maxWebhooks: 7n }, {}]) {
      const { value } = api.auth.newKey('admin', { limits });
      expect((await api.send('POST', '/v1/webhooks', { key: value, json })).status).toBe(201);
    }
    expect(api.webhooks.maxWebhooks.slice(-2)).toEqual([7n, undefined]);
  });

  test('concurrent requests share one RPC', async () => {
    const before = api.resources.batches;
    const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
    const created = await Promise.all(names.map((name) => create({ name })));
    expect(created.map(({ name }) => name)).toEqual(names);
    expect(api.resources.batches - before).toBeLessThan(50);
  });

  test('every response has the rate limit headers', async () => {
    const { headers } = await api.send('GET', '/v1/resources', { key });
    expect(headers['ratelimit-policy']).toBe('"rate";q=6000;w=60, "workspace";q=60000;w=60, "month";q=10000000');
    expect(headers.ratelimit).toMatch(/^"rate";r=\d+;t=\d+, "workspace";r=\d+;t=\d+, "month";r=\d+;t=\d+$/);
    expect(headers['x-ratelimit-limit']).toBe('6000');
    expect(Number(headers['x-ratelimit-remaining'])).toBeLessThan(6000);
    expect(headers['x-ratelimit-reset']).toMatch(/^\d+$/);
  });
});
