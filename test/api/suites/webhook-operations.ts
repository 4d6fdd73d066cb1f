import { readFileSync } from 'node:fs';
import { disposable, freePort, makeCertificates, perSuite, startReceiver, suiteFolder, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource, TestAttempt, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { subscribe } from '../support/subscriber.ts';

interface Rotated {
  id: string;
  secret?: string;
  previous_secret_expires_at: string | null;
}

const folder = suiteFolder('client-certificates-of-webhooks');

export function webhookOperationsSuite(target: () => Target): void {
  describe('Operations of webhooks', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));
    const receiver = perSuite(() => startReceiver({ path: '' }));

    const url = 'https://example.com/hook';
    const create = async (more: object = {}) =>
      expectStatus(await client.post<One<Webhook>>('/v1/webhooks', { url, events: ['*'], ...more }), 201).body.data;
    const read = async ({ id }: Webhook) => (await client.get<One<Webhook>>(`/v1/webhooks/${id}`)).body.data;

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

    test('a webhook reports its health and why it is disabled', async () => {
      const { webhook } = await subscribe(client, receiver);
      expect(webhook).toMatchObject({
        disabled_reason: null,
        health: {
          state: 'healthy',
          success_rate_1h: null,
          pending: 0,
          oldest_pending_at: null,
          next_attempt_at: null,
        },
      });
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Delivered' }), 201);
      await waitUntil(async () => (await read(webhook)).health.success_rate_1h === 1, { what: 'a success rate' });
      const failing = await create({ url: `http://127.0.0.1:${await freePort()}/`, retry_policy: { delays: [3_600] } });
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Not delivered' }), 201);
      await waitUntil(async () => (await read(failing)).health.success_rate_1h === 0, { what: 'a failed attempt' });
      const { health } = await read(failing);
      expect(health).toMatchObject({ state: 'failing', pending: 1 });
      expect(Date.parse(health.next_attempt_at ?? '')).toBeGreaterThan(Date.parse(health.oldest_pending_at ?? ''));
      const disabled = await client.patch<One<Webhook>>(`/v1/webhooks/${failing.id}`, { status: 'disabled' });
      expect(disabled.body.data).toMatchObject({ disabled_reason: 'manual', health: { state: 'disabled' } });
      const { data } = (await client.get<Page<Webhook>>('/v1/webhooks?per_page=100')).body;
      expect(data.find(({ id }) => id === failing.id)).toMatchObject({ disabled_reason: 'manual' });
    });

    test('a paused webhook keeps its queue, and delivers it when it is resumed', async () => {
      await using own = disposable(await startReceiver({ path: '' }), 'close');
      const { webhook } = await subscribe(client, own);
      const path = `/v1/webhooks/${webhook.id}`;
      const paused = await client.post<One<Webhook>>(`${path}/pause`, {});
      expect(paused.headers.etag).toBe((await client.get(path)).headers.etag);
      expect([paused.status, paused.body.data.status, paused.body.data.health.state]).toEqual([
        200,
        'paused',
        'paused',
      ]);
      const made = await client.post<One<Resource>>('/v1/resources', { name: 'While paused' });
      const { id } = expectStatus(made, 201).body.data;
      await waitUntil(async () => (await read(webhook)).health.pending === 1, { what: 'a queued delivery' });
      const isDelivered = () => own.requests.some(({ json }) => json.data.object.id === id);
      const deliveries = `/v1/deliveries?webhook_id=${webhook.id}`;
      const [waiting] = (await client.get<Page<{ status: string; delay_reason: string }>>(deliveries)).body.data;
      expect([isDelivered(), waiting?.status]).toEqual([false, 'pending']);
      const resumed = await client.post<One<Webhook>>(`${path}/resume`, {});
      expect([resumed.status, resumed.body.data.status]).toEqual([200, 'active']);
      await waitUntil(async () => isDelivered(), { what: 'the delivery' });
      expect((await client.patch<One<Webhook>>(path, { status: 'paused' })).body.data.status).toBe('paused');
      expect((await client.patch<One<Webhook>>(path, { status: 'disabled' })).body.data.status).toBe('disabled');
      for (const action of ['pause', 'resume']) {
        const { status, body } = await client.post<ErrorBody>(`${path}/${action}`, {});
        expect([action, status, body.error.code]).toEqual([action, 409, 'conflict']);
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

    test('a webhook with a filter gets the events that match it, and no others', async () => {
      const filter = {
        any: [
          { field: 'metadata.team', op: 'eq', value: 'filtered' },
          { field: 'previous_attributes.name', op: 'prefix', value: 'Old' },
          {
            all: [
              { field: 'input_type', op: 'eq', value: 'advanced' },
              { field: 'name', op: 'eq', value: 'Advanced' },
            ],
          },
        ],
      };
      const own = await startReceiver({ path: '' });
      try {
        const { data } = expectStatus(
          await client.post<One<Webhook>>('/v1/webhooks', { url: own.url, events: ['*'], filter }),
          201,
        ).body;
        expect(data.filter).toEqual(filter);
        const make = async (body: object) =>
          expectStatus(await client.post<One<Resource>>('/v1/resources', body), 201).body.data;
        await make({ name: 'Advanced' });
        const matching = [
          await make({ name: 'Advanced', type: 'advanced' }),
          await make({ name: 'Team', metadata: { team: 'filtered' } }),
          await make({ name: 'Old name' }),
        ];
        expectStatus(await client.patch(`/v1/resources/${matching[2]?.id}`, { name: 'New name' }), 200);
        await waitUntil(async () => own.requests.length === 3, { what: 'three deliveries' });
        expect(own.requests.map(({ json }) => [json.type, json.data.object.id]).sort()).toEqual(
          [
            ['resource.created', matching[0]?.id],
            ['resource.created', matching[1]?.id],
            ['resource.updated', matching[2]?.id],
          ].sort(),
        );
        const deliveries = await client.get<Page<object>>(`/v1/deliveries?webhook_id=${data.id}`);
        expect(deliveries.body.data.length).toBe(3);
        const cleared = await client.patch<One<Webhook>>(`/v1/webhooks/${data.id}`, { filter: null });
        expect([cleared.status, cleared.body.data.filter]).toEqual([200, null]);
      } finally {
        await own.close();
      }
    });

    test('filter_test evaluates a filter and each of its conditions for an event', async () => {
      const conditions = [
        { field: 'name', op: 'prefix', value: 'Tested' },
        { field: 'metadata.team', op: 'not_exists' },
      ];
      const made = await client.post<One<Resource>>('/v1/resources', { name: 'Tested', metadata: { team: 'blue' } });
      const { id } = expectStatus(made, 201).body.data;
      const find = async () => {
        const { data } = (
          await client.get<Page<{ id: string; data: { object: { id: string } } }>>('/v1/events?per_page=100')
        ).body;
        return data.find((event) => event.data.object.id === id);
      };
      const event = await waitUntil(find, { what: 'the event' });
      const test = (body: object) => client.post<One<object>>('/v1/webhooks/filter_test', body);
      const expected = {
        matches: false,
        conditions: [
          { condition: conditions[0], holds: true, value: 'Tested' },
          { condition: conditions[1], holds: false, value: 'blue' },
        ],
      };
      for (const given of [{ event_id: event.id }, { event }]) {
        const { status, body } = await test({ filter: { all: conditions }, ...given });
        expect([status, body]).toEqual([200, { data: expected }]);
      }
      const { data } = (await test({ filter: { any: conditions }, event_id: event.id })).body;
      expect(data).toEqual({ ...expected, matches: true });
      const unfiltered = await test({ filter: null, event_id: event.id });
      expect([unfiltered.status, unfiltered.body.data]).toEqual([200, { matches: true, conditions: [] }]);
      for (const [status, wrong] of [
        [400, { filter: { all: conditions } }],
        [400, { filter: { all: conditions }, event, event_id: event.id }],
        [400, { filter: { all: [] }, event }],
        [400, { filter: { all: conditions }, event: { data: { object: { name: '\u0000' } } } }],
        [400, { filter: { all: conditions }, event: { data: { object: { name: '\ud800' } } } }],
        [400, { event }],
        [400, { filter: null }],
        [404, { filter: { all: conditions }, event_id: 'evt_x' }],
        [404, { filter: null, event_id: 'evt_x' }],
      ] as const) {
        expect([wrong, (await test(wrong)).status]).toEqual([wrong, status]);
      }
    });

    test('rotating the secret returns a new one, and during the overlap both sign', async () => {
      const subscriber = await subscribe(client, receiver);
      const path = `/v1/webhooks/${subscriber.webhook.id}/rotate_secret`;
      const { data } = expectStatus(await client.post<One<Rotated>>(path, { overlap: 600 }), 200).body;
      expect(data.secret).toMatch(/^whsec_/);
      expect(data.secret).not.toBe(subscriber.secret);
      expect(Date.parse(data.previous_secret_expires_at ?? '')).toBeGreaterThan(Date.now());
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Signed twice' }), 201);
      const [received] = await subscriber.waitFor(1);
      expect(received?.headers['webhook-signature']?.split(' ')).toHaveLength(2);
      const without = expectStatus(await client.post<One<Rotated>>(path, { overlap: 0 }), 200).body.data;
      expect(without.previous_secret_expires_at).toBeNull();
      const byDefault = expectStatus(await client.send<One<Rotated>>('POST', path), 200).body.data;
      expect(Date.parse(byDefault.previous_secret_expires_at ?? '') - Date.now()).toBeGreaterThan(86_000_000);
      for (const overlap of [-1, 604_801, 'a']) expect((await client.post(path, { overlap })).status).toBe(400);
    });

    test('a repeated rotation with the Idempotency-Key returns the secret only to the key that sent it', async () => {
      const { id } = await create();
      const path = `/v1/webhooks/${id}/rotate_secret`;
      const idempotencyKey = 'rotate once';
      const first = expectStatus(await client.post<One<Rotated>>(path, { overlap: 60 }, { idempotencyKey }), 200);
      const again = await client.post(path, { overlap: 60 }, { idempotencyKey });
      expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
      const { key } = await account.newKey('live', 'admin');
      const { secret: _, ...rest } = first.body.data;
      const other = await client.post(path, { overlap: 60 }, { idempotencyKey, key });
      expect([other.status, other.body]).toEqual([200, { data: rest }]);
      const reused = await client.post<ErrorBody>(path, { overlap: 61 }, { idempotencyKey });
      expect([reused.status, reused.body.error.code]).toEqual([422, 'idempotency_key_reused']);
    });

    test('a test delivery returns the attempt with request and response, once per Idempotency-Key', async () => {
      const subscriber = await subscribe(client, receiver);
      const path = `/v1/webhooks/${subscriber.webhook.id}/test`;
      const body = { event_type: 'resource.status_changed' };
      const send = () => client.post<One<TestAttempt>>(path, body, { idempotencyKey: 'test once' });
      const first = expectStatus(await send(), 200);
      const [received, ...others] = subscriber.received();
      expect(others).toEqual([]);
      expect(received?.envelope.type).toBe('resource.status_changed');
      expect(first.body.data).toMatchObject({
        request: { url: subscriber.webhook.url, body: received?.raw.toString() },
        response: { status: 200, truncated: false },
        error: null,
        remote_address: new URL(subscriber.webhook.url).hostname,
      });
      expect(first.body.data.request.headers['webhook-id']).toBe(received?.envelope.id);
      const again = await send();
      expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
      expect(subscriber.received()).toHaveLength(1);
      const { delivery_id: deliveryId } = first.body.data;
      const logged = await client.get<One<{ test: boolean; event_id: string; attempts: { request: object }[] }>>(
        `/v1/deliveries/${deliveryId}`,
      );
      expect(logged.body.data).toMatchObject({
        test: true,
        event_id: received?.envelope.id,
        attempts: [{ request: { body: received?.raw.toString() } }],
      });
      const listed = async (query: string) =>
        (
          await client.get<Page<{ id: string }>>(`/v1/deliveries?webhook_id=${subscriber.webhook.id}&${query}`)
        ).body.data.map(({ id }) => id);
      expect(await listed('test=true')).toEqual([deliveryId]);
      expect(await listed('test=false')).toEqual([]);
      expect((await client.send('POST', `/v1/deliveries/${deliveryId}/redeliver`)).status).toBe(409);
    });

    test('a failed test delivery returns 200 with the error', async () => {
      const { id } = await create({ url: `http://127.0.0.1:${await freePort()}/` });
      const { status, body } = await client.send<One<TestAttempt>>('POST', `/v1/webhooks/${id}/test`);
      expect([status, body.data]).toMatchObject([200, { response: null, error: expect.stringMatching(/^connect/) }]);
      for (const event_type of ['*', 'resource.renamed', '', 1]) {
        expect((await client.post(`/v1/webhooks/${id}/test`, { event_type })).status).toBe(400);
      }
      expect((await client.send('POST', `/v1/webhooks/wh_${'0'.repeat(26)}/test`)).status).toBe(404);
    });

    test('a client certificate of a webhook is set and removed, and its key is never returned', async () => {
      const certificates = makeCertificates(folder);
      const { certFile, keyFile } = certificates.issue('client');
      const certificate = readFileSync(certFile, 'utf8');
      const private_key = readFileSync(keyFile, 'utf8');
      const { id } = await create();
      const path = `/v1/webhooks/${id}/client_certificate`;
      const made = await client.put<One<Webhook>>(path, { certificate, private_key });
      expect([made.status, made.body.data.client_certificate]).toEqual([
        200,
        {
          subject: 'CN=client',
          fingerprint_sha256: expect.stringMatching(/^(?:[0-9A-F]{2}:){31}[0-9A-F]{2}$/),
          expires_at: expect.stringMatching(/Z$/),
        },
      ]);
      expect(JSON.stringify(made.body)).not.toContain('PRIVATE');
      const { data } = (await client.get<One<Webhook>>(`/v1/webhooks/${id}`)).body;
      expect(data.client_certificate).toEqual(made.body.data.client_certificate);
      const other = readFileSync(certificates.issue('other').keyFile, 'utf8');
      for (const [field, body] of [
        ['client_certificate', { certificate, private_key: other }],
        ['client_certificate', { certificate: 'no certificate', private_key }],
        ['private_key', { certificate }],
        ['private_key', { certificate, private_key: '' }],
      ] as const) {
        const wrong = await client.put<ErrorBody>(path, body);
        expect([wrong.status, wrong.body.error.details?.[0]?.field]).toEqual([400, field]);
      }
      const stale = await client.delete(path, { headers: { 'if-match': '"1.x"' } });
      const removed = await client.delete<One<Webhook>>(path, { headers: { 'if-match': made.headers.etag ?? '' } });
      expect([stale.status, removed.status, removed.body.data.client_certificate]).toEqual([412, 200, null]);
      const { data: entries } = (await client.get<Page<object>>(`/v1/audit_log?target_id=${id}&per_page=100`)).body;
      expect(JSON.stringify(entries)).not.toContain('PRIVATE');
      expect(entries).toHaveLength(3);
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
