import { perSuite } from '@rms/testkit';
import { startGateway } from './support/start-gateway.ts';

describe('404 not_found and 405 method_not_allowed', () => {
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('admin'));

  test.each([
    '/',
    '/v2/resources',
    '/V1/resources',
    '/resources',
    '/livez/',
    '/docs/nothing',
    '//v1/resources',
    '/%zz',
  ])('%s is not found, with or without a key', async (path) => {
    for (const options of [{}, { key }]) {
      const { status, body } = await api.send('GET', path, options);
      const message = `Not found: no route matches \`GET ${path}\`.`;
      expect([status, body]).toEqual([404, { error: { code: 'not_found', message, status: 404 } }]);
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
  ])('%s is not found', async (path) => {
    for (const method of ['GET', 'POST', 'DELETE']) {
      const { status, body } = await api.send(method, path, { key });
      expect([status, body.error.message]).toEqual([404, `Not found: no route matches \`${method} ${path}\`.`]);
    }
  });

  test('the message for an unknown path leaves out the query and the end of a long path', async () => {
    const messageFor = async (path: string) => (await api.send('GET', path, { key })).body.error.message;
    expect(await messageFor('/v1/foo?token=secret')).toBe('Not found: no route matches `GET /v1/foo`.');
    expect(await messageFor(`/v1/sk_live_${'a'.repeat(38)}`)).toBe(
      'Not found: no route matches `GET /v1/sk_live_[secret]`.',
    );
    expect(await messageFor(`/v1/${'x'.repeat(1_000)}`)).toHaveLength(
      200 + '…'.length + 'Not found: no route matches `GET `.'.length,
    );
  });

  test('the message for an unknown ID names the type of the object', async () => {
    const messageFor = async (path: string) => (await api.send('GET', path, { key })).body.error.message;
    expect(await messageFor('/v1/resources/wh_1')).toBe(
      'There is no resource "wh_1". IDs of resources start with "res_".',
    );
    expect(await messageFor(`/v1/webhooks/${'x'.repeat(100)}`)).toBe(
      `There is no webhook "${'x'.repeat(64)}…". IDs of webhooks start with "wh_".`,
    );
  });

  test('a malformed ID is not looked up', async () => {
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
      expect((await api.send('POST', `/v1/replays/${id}/cancel`, { key })).status).toBe(404);
    }
    expect(api.resources.batches).toBe(before);
  });

  test('a well-formed ID is looked up', async () => {
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
  ])('%s %s is not allowed', async (method, path, allow) => {
    const { status, headers, body } = await api.send(method, path, { key });
    expect([status, body.error.code]).toEqual([405, 'method_not_allowed']);
    expect(headers.allow).toBe(allow);
    expect(body.error.message).toBe(`\`${path}\` does not support ${method}. It supports ${allow}.`);
  });
});
