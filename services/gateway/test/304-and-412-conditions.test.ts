import { perSuite } from '@rms/testkit';
import { openApiDocument } from '../src/openapi/document.ts';
import { startGateway } from './support/start-gateway.ts';

describe('Conditional requests', () => {
  const api = perSuite(startGateway);
  const key = perSuite(() => api.auth.newKey('admin'));

  const objects = [
    ['/v1/resources', { name: 'One' }, { name: 'Two' }],
    ['/v1/webhooks', { url: 'https://example.com/', events: ['*'] }, { status: 'disabled' }],
  ] as const;
  const create = async (path: string, json: object) => {
    const { body, headers } = await api.send('POST', path, { key, json });
    return { path: `${path}/${body.data.id}`, etag: headers.etag as string };
  };

  test.each(objects)(
    'every response with one object of %s has an ETag that changes with it',
    async (path, json, patch) => {
      const { path: one, etag } = await create(path, json);
      expect(etag).toMatch(/^"\d+\.[0-9a-f]{24}"$/);
      expect((await api.send('GET', one, { key })).headers.etag).toBe(etag);
      expect((await api.send('HEAD', one, { key })).headers.etag).toBe(etag);
      const changed = (await api.send('PATCH', one, { key, json: patch })).headers.etag;
      expect(changed).not.toBe(etag);
      expect((await api.send('GET', one, { key })).headers.etag).toBe(changed);
      expect((await api.send('GET', path, { key })).headers).not.toHaveProperty('etag');
    },
  );

  test.each(objects)(
    'GET %s/{id} with the current ETag in If-None-Match gets 304 without a body',
    async (path, json, patch) => {
      const { path: one, etag } = await create(path, json);
      for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        const { status, text, headers } = await api.send('GET', one, { key, headers: { 'If-None-Match': sent } });
        expect([sent, status, text, headers.etag, headers['content-type']]).toEqual([sent, 304, '', etag, undefined]);
      }
      await api.send('PATCH', one, { key, json: patch });
      expect((await api.send('GET', one, { key, headers: { 'If-None-Match': etag } })).status).toBe(200);
    },
  );

  test.each(objects)(
    'PATCH and DELETE %s/{id} with an outdated If-Match get 412 and change nothing',
    async (path, json, patch) => {
      const { path: one, etag } = await create(path, json);
      const current = (await api.send('PATCH', one, { key, json: patch, headers: { 'If-Match': etag } })).headers.etag;
      const before = await api.send('GET', one, { key });
      for (const sent of [etag, '"1"', '"-1.x"', '"99999999999999999999.x"', '"9223372036854775808.x"', '""']) {
        const headers = { 'If-Match': sent };
        for (const answer of [
          await api.send('PATCH', one, { key, json: patch, headers }),
          await api.send('DELETE', one, { key, headers }),
        ]) {
          expect([sent, answer.status, answer.body.error.code]).toEqual([sent, 412, 'precondition_failed']);
        }
      }
      expect((await api.send('GET', one, { key })).body).toEqual(before.body);
      const headers = { 'If-Match': `${etag}, W/${current}` };
      expect((await api.send('DELETE', one, { key, headers })).status).toBe(204);
    },
  );

  test('If-Match: * matches every version of an object that exists', async () => {
    const { path } = await create('/v1/resources', { name: 'Any' });
    const headers = { 'If-Match': '*' };
    expect((await api.send('PATCH', path, { key, json: { name: 'Other' }, headers })).status).toBe(200);
    expect((await api.send('DELETE', path, { key, headers })).status).toBe(204);
    expect((await api.send('DELETE', path, { key, headers })).status).toBe(404);
  });

  test.each(['x', '"', 'W/', '"a" "b"', ',', '', '*, "a"', "'a'"])(
    'the malformed entity tag %j gets 400',
    async (sent) => {
      const { path } = await create('/v1/resources', { name: 'Malformed' });
      for (const [method, header] of [
        ['GET', 'If-None-Match'],
        ['PATCH', 'If-Match'],
        ['DELETE', 'If-Match'],
      ] as const) {
        const json = method === 'PATCH' ? { json: { name: 'New' } } : {};
        const { status, body } = await api.send(method, path, { key, ...json, headers: { [header]: sent } });
        expect([method, status, body.error?.details?.[0]?.field]).toEqual([method, 400, header]);
      }
    },
  );

  test('every PATCH, PUT and DELETE supports If-Match', () => {
    const { paths } = openApiDocument() as { paths: Record<string, Record<string, { responses: object }>> };
    for (const [path, item] of Object.entries(paths)) {
      for (const [method, { responses }] of Object.entries(item)) {
        if (!['patch', 'put', 'delete'].includes(method)) continue;
        expect([method, path, Object.hasOwn(responses, '412')]).toEqual([method, path, true]);
      }
    }
  });
});
