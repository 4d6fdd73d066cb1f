import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, TestAttempt, Webhook } from '../support/api-types.ts';
import type { Target } from '../support/shape.ts';
import { webhookAccount } from '../support/webhook-scene.ts';

export function webhookSettingsSuite(target: () => Target): void {
  describe('Settings of webhooks', () => {
    const { account, client, receiver, url, create, read } = webhookAccount(target);

    test('description, order and retry policy of a webhook can be set and changed', async () => {
      const settings = {
        description: 'Orders of Grüße & Co.',
        ordered: true,
        retry_policy: { max_retries: 3, initial_delay: 0.5, max_delay: 90 },
      };
      const made = await create(settings);
      expect(await read(made)).toMatchObject(settings);
      const path = `/v1/webhooks/${made.id}`;
      for (const change of [
        { description: '' },
        { ordered: false },
        { retry_policy: { delays: [1, 2.5, 604_800] } },
        { retry_policy: { max_retries: 0, initial_delay: 60, max_delay: 60 } },
      ]) {
        const { status, body } = await client.patch<One<Webhook>>(path, change);
        expect([status, body.data]).toEqual([200, { ...(await read(made)), ...change }]);
      }
      expect(await create()).toMatchObject({
        description: '',
        ordered: false,
        retry_policy: { max_retries: 5, initial_delay: 60, max_delay: 43_200 },
      });
    });

    test('invalid settings of a webhook get 400', async () => {
      const { id } = await create();
      const policy = { max_retries: 1, initial_delay: 1, max_delay: 1 };
      for (const [field, settings] of [
        ['description', { description: 'x'.repeat(501) }],
        ['description', { description: '\u0000' }],
        ['description', { description: null }],
        ['ordered', { ordered: 'yes' }],
        ['retry_policy', { retry_policy: {} }],
        ['retry_policy', { retry_policy: { max_retries: 1 } }],
        ['retry_policy', { retry_policy: { ...policy, delays: [1] } }],
        ['retry_policy', { retry_policy: { ...policy, max_retries: 51 } }],
        ['retry_policy', { retry_policy: { ...policy, initial_delay: 0 } }],
        ['retry_policy', { retry_policy: { ...policy, max_delay: 0.5 } }],
        ['retry_policy', { retry_policy: { delays: [] } }],
        ['retry_policy', { retry_policy: { delays: Array(51).fill(1) } }],
        ['retry_policy', { retry_policy: { delays: [1e300] } }],
        ['rate_limit', { rate_limit: null }],
        ['rate_limit', { rate_limit: 10 }],
        ['rate_limit.max_concurrency', { rate_limit: { max_concurrency: 0 } }],
        ['rate_limit.max_concurrency', { rate_limit: { max_concurrency: 1_001 } }],
        ['rate_limit.max_concurrency', { rate_limit: { max_concurrency: 1.5 } }],
        ['rate_limit.max_concurrency', { rate_limit: { max_concurrency: null } }],
        ['rate_limit.requests_per_second', { rate_limit: { requests_per_second: 0 } }],
        ['rate_limit.requests_per_second', { rate_limit: { requests_per_second: 0.009 } }],
        ['rate_limit.requests_per_second', { rate_limit: { requests_per_second: 10_001 } }],
        ['rate_limit.requests_per_second', { rate_limit: { requests_per_second: '5' } }],
        ['rate_limit.per_minute', { rate_limit: { per_minute: 1 } }],
        ['headers', { headers: { 'Content-Type': 'text/plain' } }],
        ['headers', { headers: { A: 'a\r\nB: b' } }],
        ['headers', { headers: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, '1'])) }],
        ['headers', { headers: [] }],
        ['headers', { headers: { A: null } }],
        ['secret_headers', { secret_headers: ['A'] }],
        ['timeout', { timeout: 0.9 }],
        ['timeout', { timeout: 31 }],
        ['timeout', { timeout: null }],
        ['signature_alias', { signature_alias: 'Webhook-Id' }],
        ['filter', { filter: {} }],
        ['filter', { filter: [] }],
        ['filter', { filter: { all: [] } }],
        ['filter.all.0', { filter: { all: [{ field: 'id', op: 'exists' }] } }],
        ['filter.all.0', { filter: { all: [{ field: 'name', op: 'eq', value: 1 }] } }],
        ['filter', { filter: { all: Array(51).fill({ field: 'name', op: 'exists' }) } }],
        ['health', { health: {} }],
      ] as const) {
        for (const { status, body } of [
          await client.patch<ErrorBody>(`/v1/webhooks/${id}`, settings),
          await client.post<ErrorBody>('/v1/webhooks', { url, events: ['*'], ...settings }),
        ]) {
          expect([settings, status, body.error.details?.[0]?.field.startsWith(field)]).toEqual([settings, 400, true]);
        }
      }
    });

    test('PATCH replaces the given members of the rate limit of a webhook and keeps the others', async () => {
      const made = await create({ rate_limit: { requests_per_second: 0.01 } });
      expect(made.rate_limit).toEqual({ requests_per_second: 0.01, max_concurrency: 32 });
      for (const [change, expected] of [
        [{ max_concurrency: 1_000 }, { requests_per_second: 0.01, max_concurrency: 1_000 }],
        [{ requests_per_second: 10_000 }, { requests_per_second: 10_000, max_concurrency: 1_000 }],
        [{}, { requests_per_second: 10_000, max_concurrency: 1_000 }],
        [{ requests_per_second: null }, { requests_per_second: null, max_concurrency: 1_000 }],
        [
          { requests_per_second: 2.5, max_concurrency: 1 },
          { requests_per_second: 2.5, max_concurrency: 1 },
        ],
      ] as const) {
        const patched = await client.patch<One<Webhook>>(`/v1/webhooks/${made.id}`, { rate_limit: change });
        expect([patched.status, patched.body.data.rate_limit]).toEqual([200, expected]);
        expect((await read(made)).rate_limit).toEqual(expected);
      }
      const { data } = (await client.get<Page<Webhook>>('/v1/webhooks?per_page=100')).body;
      expect(data.find(({ id }) => id === made.id)?.rate_limit).toEqual({
        requests_per_second: 2.5,
        max_concurrency: 1,
      });
    });

    test('custom headers, timeout and second signature header of a webhook can be set and changed; secret values are never returned', async () => {
      const made = await create({
        url: receiver.url,
        headers: { 'X-Environment': 'production', Authorization: 'Bearer hidden-value' },
        secret_headers: ['Authorization'],
        timeout: 2.5,
        signature_alias: 'X-Old-Signature',
      });
      const shown = {
        headers: { 'X-Environment': 'production' },
        secret_headers: ['Authorization'],
        timeout: 2.5,
        signature_alias: 'X-Old-Signature',
      };
      expect(await read(made)).toMatchObject(shown);
      const test = await client.post<One<TestAttempt>>(`/v1/webhooks/${made.id}/test`, {});
      const [request] = receiver.requests.slice(-1);
      expect(request?.headers).toMatchObject({ 'x-environment': 'production', authorization: 'Bearer hidden-value' });
      expect(request?.headers['x-old-signature']).toBe(request?.headers['x-service-signature']);
      expect(test.text).not.toContain('hidden-value');
      const path = `/v1/webhooks/${made.id}`;
      for (const [change, expected] of [
        [{ headers: { A: '1' } }, { headers: { A: '1' }, secret_headers: ['Authorization'] }],
        [{ secret_headers: [] }, { headers: { A: '1' }, secret_headers: [] }],
        [{ headers: {} }, { headers: {} }],
        [{ timeout: 30 }, { timeout: 30 }],
        [{ signature_alias: null }, { signature_alias: null }],
      ] as const) {
        const { status, body } = await client.patch<One<Webhook>>(path, change);
        expect([status, body.data]).toEqual([200, { ...(await read(made)), ...expected }]);
      }
      expect(JSON.stringify(await account.rms('audit', '--target', made.id))).not.toContain('hidden-value');
    });

    test('everything that GET of a webhook returns can be sent back by PATCH', async () => {
      const set = {
        description: 'All settings',
        ordered: true,
        retry_policy: { delays: [1] },
        rate_limit: { requests_per_second: 5, max_concurrency: 2 },
        headers: { A: '1', B: '2' },
        secret_headers: ['B'],
        timeout: 3,
        signature_alias: 'X-Old-Signature',
        filter: {
          any: [{ field: 'metadata.team', op: 'in', value: ['a', 'b'] }, { all: [{ field: 'name', op: 'exists' }] }],
        },
      };
      for (const made of [await create(), await create(set)]) {
        const before = await read(made);
        const isSetting = (name: string) => [...Object.keys(set), 'url', 'events', 'status'].includes(name);
        const settings = Object.fromEntries(Object.entries(before).filter(([name]) => isSetting(name)));
        const { status, body } = await client.patch<One<Webhook>>(`/v1/webhooks/${made.id}`, settings);
        expect([status, body.data]).toEqual([200, { ...before, updated_at: expect.any(String) }]);
      }
    });

    test('a webhook can be created disabled or paused', async () => {
      expect(await create({ status: 'disabled' })).toMatchObject({ status: 'disabled', disabled_reason: 'manual' });
      expect(await create({ status: 'paused' })).toMatchObject({ status: 'paused', disabled_reason: null });
      expect(await create({ status: 'active' })).toMatchObject({ status: 'active', disabled_reason: null });
      expect((await client.post('/v1/webhooks', { url, events: ['*'], status: 'off' })).status).toBe(400);
    });

    test('webhooks are found by their exact URL, their status and their health', async () => {
      const exact = 'https://example.com/found?by=url';
      const [paused, disabled] = [
        await create({ url: exact, status: 'paused' }),
        await create({ url: exact, status: 'disabled' }),
      ];
      await create({ url: `${exact}s` });
      const found = async (query: object) => {
        const text = new URLSearchParams({ url: exact, ...query }).toString();
        const { data, meta } = expectStatus(await client.get<Page<Webhook>>(`/v1/webhooks?${text}`), 200).body;
        return [data.map(({ id }) => id), meta.total];
      };
      expect(await found({})).toEqual([[disabled.id, paused.id], null]);
      expect(await found({ status: 'paused' })).toEqual([[paused.id], null]);
      expect(await found({ health: 'disabled' })).toEqual([[disabled.id], null]);
      expect(await found({ health: 'healthy' })).toEqual([[], null]);
      for (const query of ['status=off', 'health=full', 'health=ill', 'url=']) {
        expect([query, (await client.get(`/v1/webhooks?${query}`)).status]).toEqual([query, 400]);
      }
    });

    test('If-Match on PATCH and DELETE of a webhook gets 412 after the webhook has changed', async () => {
      const { id } = await create();
      const path = `/v1/webhooks/${id}`;
      const etag = (await client.get(path)).headers.etag ?? '';
      expect((await client.get(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
      expectStatus(await client.post(`${path}/rotate_secret`, {}), 200);
      for (const { status, body } of [
        await client.patch<ErrorBody>(path, { description: 'x' }, { headers: { 'if-match': etag } }),
        await client.delete<ErrorBody>(path, { headers: { 'if-match': etag } }),
      ]) {
        expect([status, body.error.code]).toEqual([412, 'precondition_failed']);
      }
      const current = (await client.get(path)).headers.etag ?? '';
      const patched = await client.patch(path, { description: 'x' }, { headers: { 'if-match': current } });
      const { status } = await client.delete(path, { headers: { 'if-match': patched.headers.etag ?? '' } });
      expect([patched.status, status]).toEqual([200, 204]);
    });
  });
}
