import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function protocolSuite(target: () => Target): void {
  describe('Requests and responses', () => {
    let id: string;
    const client = perSuite(async () => (await newAccount(target())).client('live', 'admin'));
    beforeAll(async () => {
      id = expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'One' }), 201).body.data.id;
    });

    const total = async () => (await client.get<Page<Resource>>('/v1/resources')).body.meta.total;

    test('every response has a unique X-Request-ID', async () => {
      const responses = [
        await client.get('/v1/resources'),
        await client.get('/v1/resources', { key: null }),
        await client.get('/v1/nothing'),
        await client.get('/nothing'),
        await client.send('PUT', '/v1/resources', { json: {} }),
        await client.send('POST', '/v1/resources', { raw: '{' }),
        await client.get('/livez'),
        await client.get('/openapi.json'),
      ];
      const ids = responses.map(({ headers }) => headers['x-request-id']);
      for (const requestId of ids) expect(requestId).toMatch(/^req_[0-9a-z]{26}$/);
      expect(new Set(ids).size).toBe(ids.length);
    });

    test('a well-formed X-Request-ID of the client is kept, any other is replaced', async () => {
      const sent = async (value: string) =>
        (await client.get('/v1/resources', { headers: { 'x-request-id': value } })).headers['x-request-id'];
      for (const kept of ['my-request-1', 'a'.repeat(128), 'A._+/=-z']) expect(await sent(kept)).toBe(kept);
      for (const replaced of ['short', 'a'.repeat(129), 'with space here', '<script>alert(1)</script>']) {
        expect(await sent(replaced)).toMatch(/^req_/);
      }
    });

    test('an unknown path gets 404', async () => {
      for (const path of [
        '/',
        '/v1',
        '/v1/',
        '/v2/resources',
        '/v1/resource',
        `/v1/resources/${id}/x`,
        // A proxy in front may normalize this path before the service sees it.
        ...(target().shape.dispatcher ? [] : ['/v1//resources']),
      ]) {
        const response = await client.get<ErrorBody>(path);
        expect([path, response.status, response.body.error.code]).toEqual([path, 404, 'not_found']);
        expect(response.body.error.message).toBe(`Not found: no route matches \`GET ${path}\`.`);
      }
    });

    test('404 for an unknown ID names the type of the object', async () => {
      const messageFor = async (path: string) => (await client.get<ErrorBody>(path)).body.error.message;
      expect(await messageFor(`/v1/resources/res_${'0'.repeat(26)}`)).toMatch(/^There is no resource "res_0+"\.$/);
      expect(await messageFor('/v1/resources/unknown')).toMatch(/^There is no resource "unknown"\./);
      expect(await messageFor(`/v1/webhooks/wh_${'0'.repeat(26)}`)).toMatch(/^There is no webhook "wh_0+"\.$/);
    });

    test('the details of a 400 name the allowed values', async () => {
      const url = 'https://example.com/hook';
      for (const [response, field, message] of [
        [await client.get<ErrorBody>('/v1/resources?status=deleted'), 'status', 'active, inactive, archived'],
        [await client.get<ErrorBody>('/v1/resources?per_page=101'), 'per_page', 'from 1 to 100'],
        [await client.post<ErrorBody>('/v1/resources', { name: 'x', type: 'gold' }), 'type', 'standard, advanced'],
        [await client.post<ErrorBody>('/v1/resources', { name: 'x', color: 'red' }), 'color', 'name, type, metadata'],
        [await client.post<ErrorBody>('/v1/webhooks', { url, events: ['x'] }), 'events.0', 'resource.created'],
      ] as const) {
        const { details } = expectStatus(response, 400).body.error;
        expect(details).toEqual([{ field, message: expect.stringContaining(message) }]);
      }
    });

    test('a method that a path does not support gets 405 with Allow', async () => {
      const cases = [
        ['PUT', '/v1/resources', ['GET', 'POST']],
        ['DELETE', '/v1/resources', ['GET', 'POST']],
        ['PATCH', '/v1/webhooks', ['GET', 'POST']],
        ['POST', '/v1/events', ['GET']],
        ['PUT', `/v1/resources/${id}`, ['GET', 'PATCH', 'DELETE']],
        ['POST', `/v1/resources/${id}`, ['GET', 'PATCH', 'DELETE']],
        ['POST', '/v1/webhooks/wh_x', ['GET', 'PATCH', 'DELETE']],
      ] as const;
      for (const [method, path, allowed] of cases) {
        const response = await client.send<ErrorBody>(method, path, { json: {} });
        expect([method, path, response.status, response.body.error.code]).toEqual([
          method,
          path,
          405,
          'method_not_allowed',
        ]);
        const allow = (response.headers.allow ?? '').split(/, */).filter((name) => name !== 'HEAD');
        expect(allow.sort()).toEqual([...allowed].sort());
      }
    });

    test('a body that is not JSON gets 400', async () => {
      const before = await total();
      const bodies = ['', '{', '{"name":"x"', "{'name':'x'}", '{"name":"x",}', 'name=x', '\u0000', '[1', 'nul'];
      for (const raw of bodies) {
        const response = await client.send<ErrorBody>('POST', '/v1/resources', { raw });
        expect([raw, response.status, response.body.error.code]).toEqual([raw, 400, 'invalid_request']);
      }
      expect(await total()).toBe(before);
    });

    test('a body that is not an object gets 400', async () => {
      for (const raw of ['[]', '"text"', '1', 'true', 'null', '[{"name":"x"}]']) {
        expect((await client.send('POST', '/v1/resources', { raw })).status).toBe(400);
        expect((await client.send('PATCH', `/v1/resources/${id}`, { raw })).status).toBe(400);
        expect((await client.send('POST', '/v1/webhooks', { raw })).status).toBe(400);
      }
    });

    test('a body that is not UTF-8 gets 400', async () => {
      const raw = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
      expect((await client.send('POST', '/v1/resources', { raw })).status).toBe(400);
    });

    test('a body with another Content-Type gets 415', async () => {
      const raw = '{"name":"x"}';
      for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'json', '']) {
        const response = await client.send<ErrorBody>('POST', '/v1/resources', {
          raw,
          headers: { 'content-type': type },
        });
        expect([type, response.status, response.body.error.code]).toEqual([type, 415, 'unsupported_media_type']);
      }
      const gzip = await client.send('POST', '/v1/resources', { raw, headers: { 'content-encoding': 'gzip' } });
      expect(gzip.status).toBe(415);
      expect(gzip.headers['accept-encoding']).toBe('identity');
    });

    test('a 415 names the accepted types', async () => {
      const headers = { 'content-type': 'application/merge-patch+json' };
      const created = await client.send('POST', '/v1/resources', { raw: '{"name":"x"}', headers });
      expect([created.status, created.headers.accept]).toEqual([415, 'application/json']);
      const updated = await client.send('PATCH', `/v1/resources/${id}`, { raw: '{"name":"x"}', headers });
      expect([updated.status, updated.headers['accept-patch']]).toEqual([415, 'application/json']);
    });

    test('a byte order mark before the body is ignored, and kept within a text', async () => {
      const raw = Buffer.from('\ufeff{"name":"\ufeffmarked"}');
      const created = await client.send<One<Resource>>('POST', '/v1/resources', { raw });
      expect(expectStatus(created, 201).body.data.name).toBe('\ufeffmarked');
    });

    test('Content-Type application/json may include a charset', async () => {
      const types = ['; charset=utf-8', ';charset=UTF-8', '; charset=utf8', ''].map(
        (rest) => `application/json${rest}`,
      );
      for (const type of [...types, 'Application/JSON']) {
        const headers = { 'content-type': type };
        expect((await client.send('POST', '/v1/resources', { raw: '{"name":"x"}', headers })).status).toBe(201);
      }
    });

    test('a body past the limit gets 413', async () => {
      const before = await total();
      const raw = JSON.stringify({ name: 'x', metadata: { k: 'v'.repeat(400_000) } });
      const response = await client.send<ErrorBody>('POST', '/v1/resources', { raw });
      expect([response.status, response.body.error.code]).toEqual([413, 'payload_too_large']);
      expect(await total()).toBe(before);
    });

    test('a body nested a thousand levels deep gets 400', async () => {
      const raw = `{"name":"x","metadata":${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}}`;
      expect((await client.send('POST', '/v1/resources', { raw })).status).toBe(400);
    });

    test('validation errors list every invalid field', async () => {
      const body = { name: '', type: 'gold', metadata: { k: 1 }, color: 'red' };
      const response = await client.post<ErrorBody>('/v1/resources', body);
      expect([response.status, response.body.error.code, response.body.error.status]).toEqual([
        400,
        'invalid_request',
        400,
      ]);
      const fields = response.body.error.details?.map(({ field }) => field.split(/[.[]/)[0]) ?? [];
      expect([...new Set(fields)].sort()).toEqual(['color', 'metadata', 'name', 'type']);
    });

    test('unknown and repeated query parameters are rejected', async () => {
      for (const query of [
        'page=2',
        'limit=5',
        'status=active&status=inactive',
        'per_page=5&per_page=5',
        'Status=active',
      ]) {
        const response = await client.get<ErrorBody>(`/v1/resources?${query}`);
        expect([query, response.status, response.body.error.code]).toEqual([query, 400, 'invalid_request']);
      }
    });

    test('the version is part of the path', async () => {
      expect(target().contract.operations.every((operation) => operation.includes(' /v1/'))).toBe(true);
      expect((await client.get('/resources')).status).toBe(404);
    });

    test('the OpenAPI document is at /openapi.json and needs no key', async () => {
      const response = await client.get<{ openapi: string; paths: object }>('/openapi.json', { key: null });
      expect(response.status).toBe(200);
      expect(response.body.openapi).toMatch(/^3\.1\./);
    });

    test('response headers do not reveal the software of the service', async () => {
      const { headers } = await client.get('/v1/resources');
      expect(headers['x-powered-by']).toBeUndefined();
      expect(headers.server).toBeUndefined();
      expect(headers['x-content-type-options']).toBe('nosniff');
    });
  });
}
