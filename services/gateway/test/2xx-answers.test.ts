import { startGateway, type TestGateway } from './support/start-gateway.ts';

describe('2xx: what endpoints answer', () => {
  let api: TestGateway;
  let key: string;
  beforeAll(async () => {
    api = await startGateway();
    key = api.auth.newKey('admin').value;
  });
  afterAll(() => api.stop());

  const create = async (json: object = { name: 'One' }, headers = {}) =>
    (await api.send('POST', '/v1/resources', { key, json, headers })).body.data;

  test('POST /v1/resources passes on who, where, for which request, and answers 201', async () => {
    const answer = await api.send('POST', '/v1/resources', {
      key,
      json: { name: 'Grüße', type: 'advanced', metadata: { b: '2', a: '1' } },
      headers: { 'X-Request-ID': 'my-request-1', 'Idempotency-Key': 'order 1' },
    });
    expect(answer.status).toBe(201);
    expect(answer.body.data).toMatchObject({ type: 'resource', status: 'active', name: 'Grüße' });
    const request = api.resources.created.at(-1);
    expect(request).toMatchObject({ name: 'Grüße', idempotencyKey: 'order 1', metadataJson: '{"b":"2","a":"1"}' });
    expect(request?.context).toMatchObject({ requestId: 'my-request-1', principal: { environment: 1 } });
    expect(answer.headers).not.toHaveProperty('idempotency-replayed');
  });

  test('a replayed answer says so', async () => {
    const headers = { 'Idempotency-Key': 'replayed' };
    for (const [path, json] of [
      ['/v1/resources', { name: 'x' }],
      ['/v1/webhooks', { url: 'https://example.com/', events: ['*'] }],
    ] as const) {
      const answer = await api.send('POST', path, { key, json, headers });
      expect([answer.status, answer.headers['idempotency-replayed']]).toEqual([201, 'true']);
    }
  });

  test('metadata come back as they are, whatever their keys', async () => {
    const raw = '{"name":"proto","metadata":{"__proto__":"a","constructor":"b","toString":"c","1":"d"}}';
    const answer = await api.send('POST', '/v1/resources', { key, raw });
    expect(answer.text).toContain('"metadata":{"1":"d","__proto__":"a","constructor":"b","toString":"c"}');
  });

  test('GET, PATCH and DELETE of a resource', async () => {
    const { id } = await create();
    const path = `/v1/resources/${id}`;
    expect((await api.send('GET', path, { key })).body.data.name).toBe('One');
    const patched = await api.send('PATCH', path, { key, json: { status: 'archived', metadata: { k: 'v' } } });
    expect(patched.body.data).toMatchObject({ name: 'One', status: 'archived', metadata: { k: 'v' } });
    expect((await api.send('PATCH', path, { key, json: {} })).body).toEqual(patched.body);
    const gone = await api.send('DELETE', path, { key });
    expect([gone.status, gone.text, gone.headers['content-type']]).toEqual([204, '', undefined]);
    expect((await api.send('GET', path, { key })).status).toBe(404);
  });

  test('HEAD answers as GET does, without the body', async () => {
    const { id } = await create();
    const get = await api.send('GET', `/v1/resources/${id}`, { key });
    const head = await api.send('HEAD', `/v1/resources/${id}`, { key });
    expect([head.status, head.text]).toEqual([200, '']);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  });

  test('links are absolute, keep the other parameters, and carry the cursor', async () => {
    await create();
    await create();
    const query = 'sort=-name&per_page=1&status=active&cursor=abc';
    const { body } = await api.send('GET', `/v1/resources?${query}`, { key });
    const next = new URL(body.links.next);
    expect(next.origin).toBe(api.gateway.addresses.live);
    expect(Object.fromEntries(next.searchParams)).toEqual({
      sort: '-name',
      per_page: '1',
      status: 'active',
      cursor: 'to-next',
    });
    expect(new URL(body.links.prev).searchParams.get('cursor')).toBe('to-previous');
    expect(body.meta).toMatchObject({ page: 2, per_page: 1 });
  });

  test('webhooks: created with a secret, read and changed without', async () => {
    const json = { url: 'https://example.com/hook', events: ['resource.created', 'resource.deleted'] };
    const created = await api.send('POST', '/v1/webhooks', { key, json, headers: { 'X-Request-ID': 'hook-request' } });
    expect(created.status).toBe(201);
    const { id, secret } = created.body.data;
    expect(secret).toMatch(/^whsec_/);
    expect(api.webhooks.requestIds).toContain('hook-request');
    const path = `/v1/webhooks/${id}`;
    const changed = await api.send('PATCH', path, { key, json: { status: 'disabled', events: ['*'] } });
    expect(changed.body.data).toMatchObject({ id, status: 'disabled', events: ['*'] });
    const read = await api.send('GET', path, { key });
    expect(read.body).toEqual(changed.body);
    const list = await api.send('GET', '/v1/webhooks', { key });
    expect(list.body.data).toContainEqual(read.body.data);
    expect(read.text + changed.text + list.text).not.toContain('whsec_');
    expect((await api.send('DELETE', path, { key })).status).toBe(204);
    expect((await api.send('DELETE', path, { key })).status).toBe(404);
  });

  test('calls that arrive together ride one RPC', async () => {
    const before = api.resources.batches;
    const names = Array.from({ length: 50 }, (_, i) => `n${i}`);
    const made = await Promise.all(names.map((name) => create({ name })));
    expect(made.map(({ name }) => name)).toEqual(names);
    expect(api.resources.batches - before).toBeLessThan(50);
  });

  test('the state of the limits is said in every answer', async () => {
    const { headers } = await api.send('GET', '/v1/resources', { key });
    expect(headers['ratelimit-policy']).toBe('"rate";q=6000;w=60, "month";q=10000000');
    expect(headers.ratelimit).toMatch(/^"rate";r=\d+;t=\d+, "month";r=\d+;t=\d+$/);
    expect(headers['x-ratelimit-limit']).toBe('6000');
    expect(Number(headers['x-ratelimit-remaining'])).toBeLessThan(6000);
    expect(headers['x-ratelimit-reset']).toMatch(/^\d+$/);
  });
});
