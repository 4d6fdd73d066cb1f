import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function protocolSuite(target: () => Target): void {
  describe('Requests and responses', () => {
    let client: ApiClient;
    let id: string;
    beforeAll(async () => {
      client = await (await newAccount(target())).client('live', 'admin');
      id = expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'One' }), 201).body.data.id;
    });

    const total = async () => (await client.get<Page<Resource>>('/v1/resources')).body.meta.total;

    test('every response carries an X-Request-ID of its own', async () => {
      const answers = [
        await client.get('/v1/resources'),
        await client.get('/v1/resources', { key: null }),
        await client.get('/v1/nothing'),
        await client.get('/nothing'),
        await client.send('PUT', '/v1/resources', { json: {} }),
        await client.send('POST', '/v1/resources', { raw: '{' }),
        await client.get('/livez'),
        await client.get('/openapi.json'),
      ];
      const ids = answers.map(({ headers }) => headers['x-request-id']);
      for (const requestId of ids) expect(requestId).toMatch(/^req_[0-9a-z]{26}$/);
      expect(new Set(ids).size).toBe(ids.length);
    });

    test('a well-formed X-Request-ID of the client is kept, another is replaced', async () => {
      const sent = async (value: string) =>
        (await client.get('/v1/resources', { headers: { 'x-request-id': value } })).headers['x-request-id'];
      for (const kept of ['my-request-1', 'a'.repeat(128), 'A._+/=-z']) expect(await sent(kept)).toBe(kept);
      for (const replaced of ['short', 'a'.repeat(129), 'with space here', '<script>alert(1)</script>']) {
        expect(await sent(replaced)).toMatch(/^req_/);
      }
    });

    test('an unknown path is answered 404', async () => {
      for (const path of [
        '/',
        '/v1',
        '/v1/',
        '/v2/resources',
        '/v1/resource',
        `/v1/resources/${id}/x`,
        // A proxy in front may tidy this one before we see it.
        ...(target().shape.dispatcher ? [] : ['/v1//resources']),
      ]) {
        const answer = await client.get<ErrorBody>(path);
        expect([path, answer.status, answer.body.error.code]).toEqual([path, 404, 'not_found']);
      }
    });

    test('a method that an address does not have is answered 405 with Allow', async () => {
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
        const answer = await client.send<ErrorBody>(method, path, { json: {} });
        expect([method, path, answer.status, answer.body.error.code]).toEqual([
          method,
          path,
          405,
          'method_not_allowed',
        ]);
        const allow = (answer.headers.allow ?? '').split(/, */).filter((name) => name !== 'HEAD');
        expect(allow.sort()).toEqual([...allowed].sort());
      }
    });

    test('a body that is not JSON is answered 400', async () => {
      const before = await total();
      const bodies = ['', '{', '{"name":"x"', "{'name':'x'}", '{"name":"x",}', 'name=x', '\u0000', '[1', 'nul'];
      for (const raw of bodies) {
        const answer = await client.send<ErrorBody>('POST', '/v1/resources', { raw });
        expect([raw, answer.status, answer.body.error.code]).toEqual([raw, 400, 'invalid_request']);
      }
      expect(await total()).toBe(before);
    });

    test('a body that is not an object is answered 400', async () => {
      for (const raw of ['[]', '"text"', '1', 'true', 'null', '[{"name":"x"}]']) {
        expect((await client.send('POST', '/v1/resources', { raw })).status).toBe(400);
        expect((await client.send('PATCH', `/v1/resources/${id}`, { raw })).status).toBe(400);
        expect((await client.send('POST', '/v1/webhooks', { raw })).status).toBe(400);
      }
    });

    test('a body that is not UTF-8 is answered 400', async () => {
      const raw = Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
      expect((await client.send('POST', '/v1/resources', { raw })).status).toBe(400);
    });

    test('a body with another Content-Type is answered 415', async () => {
      const raw = '{"name":"x"}';
      for (const type of ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'json', '']) {
        const answer = await client.send<ErrorBody>('POST', '/v1/resources', {
          raw,
          headers: { 'content-type': type },
        });
        expect([type, answer.status, answer.body.error.code]).toEqual([type, 415, 'unsupported_media_type']);
      }
      const gzip = await client.send('POST', '/v1/resources', { raw, headers: { 'content-encoding': 'gzip' } });
      expect(gzip.status).toBe(415);
    });

    test('Content-Type application/json may name its charset', async () => {
      for (const type of ['application/json; charset=utf-8', 'application/json;charset=UTF-8', 'Application/JSON']) {
        const headers = { 'content-type': type };
        expect((await client.send('POST', '/v1/resources', { raw: '{"name":"x"}', headers })).status).toBe(201);
      }
    });

    test('a body past the limit is answered 413', async () => {
      const before = await total();
      const raw = JSON.stringify({ name: 'x', metadata: { k: 'v'.repeat(400_000) } });
      const answer = await client.send<ErrorBody>('POST', '/v1/resources', { raw });
      expect([answer.status, answer.body.error.code]).toEqual([413, 'payload_too_large']);
      expect(await total()).toBe(before);
    });

    test('a body nested a thousand levels deep is refused like any other wrong body', async () => {
      const raw = `{"name":"x","metadata":${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}}`;
      expect((await client.send('POST', '/v1/resources', { raw })).status).toBe(400);
    });

    test('validation errors name every wrong field', async () => {
      const body = { name: '', type: 'gold', metadata: { k: 1 }, colour: 'red' };
      const answer = await client.post<ErrorBody>('/v1/resources', body);
      expect([answer.status, answer.body.error.code, answer.body.error.status]).toEqual([400, 'invalid_request', 400]);
      const fields = answer.body.error.details?.map(({ field }) => field.split(/[.[]/)[0]) ?? [];
      expect([...new Set(fields)].sort()).toEqual(['colour', 'metadata', 'name', 'type']);
    });

    test('unknown and repeated query parameters are refused', async () => {
      for (const query of [
        'page=2',
        'limit=5',
        'status=active&status=inactive',
        'per_page=5&per_page=5',
        'Status=active',
      ]) {
        const answer = await client.get<ErrorBody>(`/v1/resources?${query}`);
        expect([query, answer.status, answer.body.error.code]).toEqual([query, 400, 'invalid_request']);
      }
    });

    test('the version is part of the path', async () => {
      expect(target().contract.operations.every((operation) => operation.includes(' /v1/'))).toBe(true);
      expect((await client.get('/resources')).status).toBe(404);
    });

    test('the service describes itself at /openapi.json without a key', async () => {
      const answer = await client.get<{ openapi: string; paths: object }>('/openapi.json', { key: null });
      expect(answer.status).toBe(200);
      expect(answer.body.openapi).toMatch(/^3\.1\./);
    });

    test('an answer does not tell what the service is made of', async () => {
      const { headers } = await client.get('/v1/resources');
      expect(headers['x-powered-by']).toBeUndefined();
      expect(headers.server).toBeUndefined();
      expect(headers['x-content-type-options']).toBe('nosniff');
    });
  });
}
