import { perSuite } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import { type ApiKey, type ErrorBody, type One, type Page, timestampForm } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';

export function apiKeysSuite(target: () => Target): void {
  describe('API keys', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));

    const path = '/v1/api_keys';
    const create = async (body: object = { name: 'ci', scope: 'write' }, options = {}) =>
      expectStatus(await client.post<One<ApiKey>>(path, body, options), 201).body.data;
    const as = ({ key }: ApiKey) => account.clientWith('live', key ?? '');
    const withoutValue = ({ key: _, ...rest }: ApiKey) => rest;
    const statusWith = async (key: ApiKey) => (await as(key).get<ErrorBody>('/v1/resources')).status;

    test('POST of a key returns 201 with a key that works and its value', async () => {
      const body = {
        name: 'ci',
        scope: 'write',
        allowed_ips: [],
        rate_limit: 100,
        expires_at: '2999-01-01T01:00:00+01:00',
      };
      const answer = await client.post<One<ApiKey>>(path, body);
      expect([answer.status, answer.body]).toEqual([
        201,
        {
          data: {
            ...body,
            id: expect.stringMatching(/^key_/),
            type: 'api_key',
            permissions: [],
            environment: 'live',
            hint: expect.stringMatching(/^sk_live_/),
            status: 'active',
            expires_at: '2999-01-01T00:00:00.000Z',
            created_at: expect.stringMatching(timestampForm),
            created_by: expect.stringMatching(/^key:key_/),
            created_by_name: expect.any(String),
            last_used_at: null,
            last_used_ip: null,
            last_refusal: null,
            revoked_at: null,
            rolled_at: null,
            rolled_to: null,
            overlap_ends_at: null,
            key: expect.stringMatching(/^sk_live_[0-9A-Za-z]{38}$/),
          },
        },
      ]);
      const made = as(answer.body.data);
      expect((await made.post('/v1/resources', { name: 'by the new key' })).status).toBe(201);
      expect((await made.get(path)).status).toBe(403);
    });

    test('the value of a key is returned only once, and never in a list', async () => {
      const made = await create();
      const one = `${path}/${made.id}`;
      for (const text of [
        (await client.get(one)).text,
        (await client.get(`${path}?per_page=100`)).text,
        (await client.patch(one, { name: 'renamed' })).text,
        (await client.get('/v1/audit_log?per_page=100')).text,
      ]) {
        expect(text).toContain(made.id);
        expect(text).not.toContain(made.key?.slice(12, -4));
      }
    });

    test('name, allowlist and rate limit of a key can be changed individually, effective immediately', async () => {
      const made = await create();
      const one = `${path}/${made.id}`;
      const expected: object = { ...withoutValue(made), clients: [] };
      for (const change of [
        { name: 'renamed' },
        { rate_limit: 5 },
        { rate_limit: null },
        { allowed_ips: ['192.0.2.0/24'] },
      ]) {
        const answer = await client.patch(one, change);
        expect([answer.status, answer.body]).toEqual([200, { data: Object.assign(expected, change) }]);
        expect((await client.get(one)).body).toEqual(answer.body);
      }
      expect(await statusWith(made)).toBe(403);
      expectStatus(await client.patch(one, { allowed_ips: [] }), 200);
      expect(await statusWith(made)).toBe(200);
    });

    test('the expiry date of a key can be changed and removed', async () => {
      const { id } = await create();
      for (const change of [{ expires_at: '2999-01-01T00:00:00.000Z' }, { name: 'kept' }, { expires_at: null }]) {
        const { body } = expectStatus(await client.patch<One<ApiKey>>(`${path}/${id}`, change), 200);
        expect(body.data).toMatchObject({ expires_at: '2999-01-01T00:00:00.000Z', ...change });
        expect((await client.get<One<ApiKey>>(`${path}/${id}`)).body.data.expires_at).toBe(body.data.expires_at);
      }
      const past = await client.patch<ErrorBody>(`${path}/${id}`, { expires_at: '2000-01-01T00:00:00Z' });
      expect([past.status, past.body.error.details?.[0]?.field]).toEqual([400, 'expires_at']);
    });

    test('DELETE of a key returns 204 when every gateway rejects it', async () => {
      const made = await create();
      expect(await statusWith(made)).toBe(200);
      expect((await client.delete(`${path}/${made.id}`)).status).toBe(204);
      expect(await statusWith(made)).toBe(401);
      expect((await client.get<One<ApiKey>>(`${path}/${made.id}`)).body.data.status).toBe('revoked');
      expect((await client.delete(`${path}/${made.id}`)).status).toBe(204);
    });

    test('a key may revoke itself', async () => {
      const made = await create({ name: 'self', scope: 'admin' });
      expect((await as(made).delete(`${path}/${made.id}`)).status).toBe(204);
      const { status, body } = await as(made).get<ErrorBody>(path);
      expect([status, body.error.code]).toEqual([401, 'invalid_api_key']);
    });

    test('rolling a key returns 201 with a new key, and the old one is rejected when the overlap has ended', async () => {
      const old = await create({ name: 'rolled', scope: 'read', rate_limit: 50 });
      const roll = `${path}/${old.id}/roll`;
      const { key, ...next } = expectStatus(await client.post<One<ApiKey>>(roll, { overlap: 0 }), 201).body.data;
      expect(next).toMatchObject({ name: 'rolled', scope: 'read', rate_limit: 50, status: 'active', rolled_to: null });
      expect((await account.clientWith('live', key ?? '').get('/v1/resources')).status).toBe(200);
      const { status, body } = await as(old).get<ErrorBody>('/v1/resources');
      expect([status, body.error.code]).toEqual([401, 'api_key_expired']);
      expect((await client.get<One<ApiKey>>(`${path}/${old.id}`)).body.data).toMatchObject({
        status: 'rolled',
        rolled_to: next.id,
      });
      expect((await client.post(roll, {})).status).toBe(409);
    });

    test('without a body, the overlap of a roll is a day', async () => {
      const old = await create();
      expectStatus(await client.send<One<ApiKey>>('POST', `${path}/${old.id}/roll`), 201);
      expect(await statusWith(old)).toBe(200);
    });

    test('a repeated create or roll with the Idempotency-Key returns the value only to the key that sent it', async () => {
      const old = await create();
      const other = await account.newKey('live', 'admin');
      for (const [where, body] of [
        [path, { name: 'once', scope: 'read' }],
        [`${path}/${old.id}/roll`, { overlap: 60 }],
      ] as const) {
        const idempotencyKey = 'one key';
        const first = expectStatus(await client.post<One<ApiKey>>(where, body, { idempotencyKey }), 201);
        const again = await client.post(where, body, { idempotencyKey });
        expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([201, first.text, 'true']);
        const stranger = await client.post<One<ApiKey>>(where, body, { idempotencyKey, key: other.key });
        expect([stranger.status, stranger.body.data]).toEqual([201, withoutValue(first.body.data)]);
        const reused = await client.post<ErrorBody>(where, { ...body, ...differently(body) }, { idempotencyKey });
        expect([reused.status, reused.body.error.code]).toEqual([422, 'idempotency_key_reused']);
      }
    });

    const differently = (body: object) => ('name' in body ? { name: 'twice' } : { overlap: 61 });

    test('keys are listed newest first and filtered by status and name', async () => {
      const own = await newAccount(target());
      const mine = await own.client('live', 'admin');
      const make = async (name: string, more = {}) =>
        expectStatus(await mine.post<One<ApiKey>>(path, { name, scope: 'read', ...more }), 201).body.data;
      const [alpha, beta, gamma] = [await make('Alpha one'), await make('Beta ONE'), await make('100%_gamma')];
      expectStatus(await mine.delete(`${path}/${beta.id}`), 204);
      const next = expectStatus(await mine.post<One<ApiKey>>(`${path}/${gamma.id}/roll`, {}), 201).body.data;
      const list = async (query: string) => {
        const { body } = expectStatus(await mine.get<Page<ApiKey>>(`${path}?${query}`), 200);
        expect(body.meta.total).toBeNull();
        return body.data.map(({ id }) => id);
      };
      expect((await list('status=active')).slice(0, 2)).toEqual([next.id, alpha.id]);
      expect(await list('status=revoked')).toEqual([beta.id]);
      expect(await list('status=rolled')).toEqual([gamma.id]);
      expect(await list('status=expired')).toEqual([]);
      expect(await list('name=one')).toEqual([beta.id, alpha.id]);
      expect(await list('name=%25_')).toEqual([next.id, gamma.id]);
      expect(await list('name=one&status=active')).toEqual([alpha.id]);
      const pages: string[][] = [];
      let last: Page<ApiKey> | undefined;
      for (let url: string | null = `${path}?per_page=2`; url !== null; url = last.links.next) {
        last = expectStatus(await mine.get<Page<ApiKey>>(url), 200).body;
        pages.push(last.data.map(({ id }) => id));
      }
      expect(pages.flat().slice(0, 4)).toEqual([next.id, gamma.id, beta.id, alpha.id]);
      const back = expectStatus(await mine.get<Page<ApiKey>>(last?.links.prev ?? ''), 200).body;
      expect(back.data.map(({ id }) => id)).toEqual(pages.at(-2));
    });

    test('If-Match on PATCH and DELETE of a key gets 412 after the key has changed', async () => {
      const made = await create();
      const one = `${path}/${made.id}`;
      const etag = (await client.get(one)).headers.etag ?? '';
      expect((await client.get(one, { headers: { 'if-none-match': etag } })).status).toBe(304);
      const changes = await Promise.all(
        ['a', 'b', 'c'].map((name) => client.patch(one, { name }, { headers: { 'if-match': etag } })),
      );
      expect(changes.map(({ status }) => status).sort()).toEqual([200, 412, 412]);
      const outdated = await client.delete<ErrorBody>(one, { headers: { 'if-match': etag } });
      expect([outdated.status, outdated.body.error.code]).toEqual([412, 'precondition_failed']);
      const current = changes.find(({ status }) => status === 200)?.headers.etag ?? '';
      expect((await client.delete(one, { headers: { 'if-match': current } })).status).toBe(204);
    });

    test('an invalid field of a key gets 400 and creates nothing', async () => {
      const names = async () => (await client.get<Page<ApiKey>>(`${path}?name=wrong&per_page=100`)).body.data.length;
      const valid = { name: 'wrong', scope: 'read' };
      for (const [field, change] of [
        ['name', { name: '' }],
        ['name', { name: 'a\u0000' }],
        ['name', { name: 'x'.repeat(101) }],
        ['scope', { scope: 'root' }],
        ['expires_at', { expires_at: '2001-01-01T00:00:00Z' }],
        ['expires_at', { expires_at: 'tomorrow' }],
        ['expires_at', { expires_at: '2030-02-30T00:00:00Z' }],
        ['expires_at', { expires_at: 1_900_000_000 }],
        ['allowed_ips', { allowed_ips: ['10.0.0.0/33'] }],
        ['allowed_ips', { allowed_ips: ['\u0000'] }],
        ['allowed_ips', { allowed_ips: Array(101).fill('10.0.0.1') }],
        ['rate_limit', { rate_limit: 0 }],
        ['rate_limit', { rate_limit: 1.5 }],
        ['rate_limit', { rate_limit: 1e300 }],
        ['key', { key: 'sk_live_mine' }],
        ['environment', { environment: 'sandbox' }],
      ] as const) {
        const { status, body } = await client.post<ErrorBody>(path, { ...valid, ...change });
        expect([change, status, body.error.details?.[0]?.field.startsWith(field)]).toEqual([change, 400, true]);
      }
      const { id } = await create();
      for (const overlap of [-1, 1e12, '1', null]) {
        expect([overlap, (await client.post(`${path}/${id}/roll`, { overlap })).status]).toEqual([overlap, 400]);
      }
      for (const query of ['status=valid', 'name=', `name=${'x'.repeat(101)}`, 'name=%00', 'cursor=x', 'scope=read']) {
        expect([query, (await client.get(`${path}?${query}`)).status]).toEqual([query, 400]);
      }
      expect(await names()).toBe(0);
    });

    test('an unknown or malformed key id gets 404', async () => {
      for (const id of ['key_x', `key_${'0'.repeat(26)}`, `wh_${'0'.repeat(26)}`]) {
        for (const { status } of [
          await client.get(`${path}/${id}`),
          await client.patch(`${path}/${id}`, { name: 'x' }),
          await client.post(`${path}/${id}/roll`, {}),
          await client.delete(`${path}/${id}`),
        ]) {
          expect([id, status]).toEqual([id, 404]);
        }
      }
    });
  });
}
