import { startGateway, type TestGateway } from './support/start-gateway.ts';

describe('404 not_found and 405 method_not_allowed', () => {
  let api: TestGateway;
  let key: string;
  beforeAll(async () => {
    api = await startGateway();
    key = api.auth.newKey('admin').value;
  });
  afterAll(() => api.stop());

  test.each([
    '/',
    '/v2/resources',
    '/V1/resources',
    '/resources',
    '/livez/',
    '/docs/nothing',
    '//v1/resources',
    '/%zz',
  ])('nothing is at %s, with a key or without', async (path) => {
    for (const options of [{}, { key }]) {
      const { status, body } = await api.send('GET', path, options);
      expect([status, body]).toEqual([404, { error: { code: 'not_found', message: expect.any(String), status: 404 } }]);
    }
  });

  test.each([
    '/v1',
    '/v1/',
    '/v1/resource',
    '/v1//resources',
    '/v1/resources/',
    '/v1/resources/x/y',
    '/v1/resources/%zz',
  ])('nothing is at %s', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      expect((await api.send(method, path, { key })).status).toBe(404);
    }
  });

  test('what cannot be an id is not looked up', async () => {
    const before = api.resources.batches;
    for (const id of [
      'x',
      'res_',
      'res_0',
      `wh_${'0'.repeat(26)}`,
      `res_${'l'.repeat(26)}`,
      '%00',
      '..%2f',
      'res_%F0',
    ]) {
      expect((await api.send('GET', `/v1/resources/${id}`, { key })).status).toBe(404);
      expect((await api.send('PATCH', `/v1/resources/${id}`, { key, json: { name: 'x' } })).status).toBe(404);
      expect((await api.send('DELETE', `/v1/webhooks/${id}`, { key })).status).toBe(404);
    }
    expect(api.resources.batches).toBe(before);
  });

  test('what could be an id is looked up', async () => {
    const { status, body } = await api.send('GET', `/v1/resources/res_${'0'.repeat(26)}`, { key });
    expect([status, body.error.code]).toEqual([404, 'not_found']);
  });

  test.each([
    ['PUT', '/v1/resources', 'POST, GET, HEAD'],
    ['OPTIONS', '/v1/resources', 'POST, GET, HEAD'],
    ['DELETE', '/v1/webhooks', 'POST, GET, HEAD'],
    ['POST', '/v1/events', 'GET, HEAD'],
    ['POST', '/v1/resources/x', 'GET, HEAD, PATCH, DELETE'],
    ['PROPFIND', '/v1/webhooks/x', 'GET, HEAD, PATCH, DELETE'],
    ['POST', '/livez', 'GET, HEAD'],
    ['OPTIONS', '/openapi.json', 'GET, HEAD'],
    ['DELETE', '/docs', 'GET, HEAD'],
  ])('%s %s is not supported', async (method, path, allow) => {
    const { status, headers, body } = await api.send(method, path, { key });
    expect([status, body.error.code]).toEqual([405, 'method_not_allowed']);
    expect(headers.allow).toBe(allow);
  });
});
