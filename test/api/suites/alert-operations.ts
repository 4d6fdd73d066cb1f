import { createHmac } from 'node:crypto';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import { type Account, newAccount, type Target } from '../support/shape.ts';
import { retryFast, subscribe } from '../support/subscriber.ts';

interface Rule {
  readonly kind: string;
  readonly enabled: boolean;
  readonly threshold: number | null;
  readonly recipients: readonly string[];
}

interface Channel {
  readonly id: string;
  readonly secret?: string;
}

interface Incident {
  readonly id: string;
  readonly kind: string;
  readonly subject: { readonly id: string | null };
  readonly status: string;
  readonly end_reason: string | null;
}

interface List<T> {
  readonly data: readonly T[];
  readonly meta: { readonly total: number | null };
  readonly links: { readonly next: string | null; readonly prev: string | null };
}

interface One<T> {
  readonly data: T;
}

export function alertOperationsSuite(target: () => Target): void {
  describe('Alert rules, incidents and channels', () => {
    let account: Account;
    let client: ApiClient;
    let receiver: Receiver;
    beforeAll(async () => {
      account = await newAccount(target());
      client = await account.client('test', 'admin');
      receiver = await startReceiver({ path: '' });
    });
    afterAll(() => receiver?.close());

    const rule = (kind: string) => client.get<One<Rule>>(`/v1/alert_rules/${kind}`);

    test('a rule keeps the fields that a change omits, and If-Match refuses a change of another version', async () => {
      const path = '/v1/alert_rules/quota';
      const before = await rule('quota');
      expect(before.body.data).toMatchObject({ enabled: true, threshold: 0.8, recipients: [] });
      const etag = before.headers.etag ?? '';
      const ifMatch = { headers: { 'If-Match': etag } };
      expectStatus(await client.put(path, { threshold: 0.9, recipients: ['ops@example.com'] }, ifMatch), 200);
      expectStatus(await client.put(path, { enabled: false }, ifMatch), 412);
      expectStatus(await client.put(path, { enabled: false }), 200);
      expect((await rule('quota')).body.data).toMatchObject({
        ...{ enabled: false, threshold: 0.9, recipients: ['ops@example.com'] },
      });
      const live = await (await account.client('live', 'admin')).get<One<Rule>>(path);
      expect(live.body.data).toMatchObject({ enabled: true, threshold: 0.8 });
      const { data } = (
        await client.get<List<{ actor_name: string; target_id: string }>>('/v1/audit_log?action=alert_rule.updated')
      ).body;
      expect(data[0]).toMatchObject({ actor_name: 'admin key', target_id: 'quota' });
    });

    test('the list of rules has pages', async () => {
      const seen: string[] = [];
      let path: string | null = '/v1/alert_rules?per_page=3';
      while (path !== null) {
        const { body }: { body: List<Rule> } = await client.get<List<Rule>>(path);
        expect(body.meta.total).toBe(7);
        seen.push(...body.data.map(({ kind }) => kind));
        path = body.links.next && `/v1/alert_rules${new URL(body.links.next).search}`;
      }
      expect(new Set(seen).size).toBe(7);
    });

    test('invalid changes of a rule are 400 and an unknown rule is 404', async () => {
      const put = (kind: string, body: unknown) => client.put(`/v1/alert_rules/${kind}`, body);
      for (const body of [{ threshold: 2 }, { recipients: ['no address'] }, { window: 60 }, { minimum: 5 }, { a: 1 }]) {
        expectStatus(await put('quota', body), 400);
      }
      expectStatus(await put('api_error_rate', { window: 61 }), 400);
      expectStatus(await put('weather', {}), 404);
    });

    test('rules and incidents need the scope admin', async () => {
      const writer = await account.client('test', 'write');
      for (const path of ['/v1/alert_rules', '/v1/alert_rules/quota', '/v1/incidents']) {
        expectStatus(await writer.get(path), 403);
      }
      expectStatus(await writer.put('/v1/alert_rules/quota', {}), 403);
    });

    test('a test of a rule takes effect once per Idempotency-Key', async () => {
      const path = '/v1/alert_rules/key_expiry/test';
      const test = () => client.post<One<{ addresses: string[] }>>(path, undefined, { idempotencyKey: 'once' });
      const [first, second] = [await test(), await test()];
      expectStatus(first, 200);
      expect([second.body, second.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
      const { data } = (await client.get<List<object>>('/v1/audit_log?action=alert_rule.tested')).body;
      expect(data).toHaveLength(1);
    });

    test('an incident is found by its webhook, its rule and its status', async () => {
      receiver.respondWith(500);
      const { webhook } = await subscribe(client, receiver, ['resource.created']);
      await retryFast(account, webhook.id, 3);
      expectStatus(await client.post('/v1/resources', { name: 'Lost' }), 201);
      const found = async (query: string) =>
        (await client.get<List<Incident>>(`/v1/incidents?subject_id=${webhook.id}&${query}`)).body.data;
      const kind = 'kind=delivery_failures_in_a_row';
      const open = await waitUntil(async () => (await found(`status=open&${kind}`))[0], { what: 'the incident' });
      expect(await found('kind=quota')).toEqual([]);
      expect(await found('status=closed')).toEqual([]);
      receiver.respondWith(200);
      expectStatus(await client.post('/v1/resources', { name: 'Found' }), 201);
      const closed = await waitUntil(async () => (await found(`status=closed&${kind}`))[0], { what: 'the recovery' });
      expect([closed.id, closed.end_reason]).toEqual([open.id, 'recovered']);
      const one = await client.get<One<Incident>>(`/v1/incidents/${open.id}`);
      expect(one.body.data).toEqual(closed);
      const unchanged = { headers: { 'If-None-Match': one.headers.etag ?? '' } };
      expectStatus(await client.get(`/v1/incidents/${open.id}`, unchanged), 304);
      const live = await account.client('live', 'admin');
      expectStatus(await live.get(`/v1/incidents/${open.id}`), 404);
    });

    test('an open incident is acknowledged and muted, a closed one is not', async () => {
      receiver.respondWith(500);
      const { webhook } = await subscribe(client, receiver, ['resource.created']);
      await retryFast(account, webhook.id, 3);
      expectStatus(await client.post('/v1/resources', { name: 'Lost again' }), 201);
      const query = `subject_id=${webhook.id}&kind=delivery_failures_in_a_row`;
      const found = async (status: string) =>
        (await client.get<List<Incident>>(`/v1/incidents?${query}&status=${status}`)).body.data[0];
      const { id } = await waitUntil(() => found('open'), { what: 'the incident' });
      const path = `/v1/incidents/${id}`;
      const acknowledge = () => client.post<One<Incident>>(`${path}/acknowledge`, undefined, { idempotencyKey: 'ack' });
      const { body } = expectStatus(await acknowledge(), 200);
      expect(body.data).toMatchObject({ acknowledged_by: expect.stringMatching(/^key:key_/), muted_until: null });
      const repeated = await acknowledge();
      expect([repeated.body, repeated.headers['idempotency-replayed']]).toEqual([body, 'true']);
      const until = new Date(Date.now() + 3_600_000).toISOString();
      const muted = await client.post<One<Incident>>(`${path}/mute`, { until });
      expect(expectStatus(muted, 200).body.data).toMatchObject({ muted_until: until });
      for (const invalid of [{ until: '2020-01-01T00:00:00Z' }, { until: 'soon' }, {}]) {
        expectStatus(await client.post(`${path}/mute`, invalid), 400);
      }
      expectStatus(await client.post(`${path}/mute`, { until: null }), 200);
      receiver.respondWith(200);
      expectStatus(await client.post('/v1/resources', { name: 'Found again' }), 201);
      await waitUntil(() => found('closed'), { what: 'the recovery' });
      expectStatus(await client.post(`${path}/acknowledge`, undefined), 409);
    });

    test('a webhook channel gets messages that its secret signs; the secret is shown once', async () => {
      const hook = await startReceiver({ path: '/alerts' });
      const body = { type: 'webhook', name: 'Bot', url: hook.url };
      const create = (of = client) => of.post<One<Channel>>('/v1/alert_channels', body, { idempotencyKey: 'channel' });
      const created = expectStatus(await create(), 201);
      const { id, secret = '' } = created.body.data;
      expect(secret).toMatch(/^whsec_/);
      const other = account.clientWith('test', (await account.newKey('test', 'admin')).key);
      expect((await create(other)).body.data).toMatchObject({ id });
      expect((await create(other)).body.data.secret).toBeUndefined();
      const path = `/v1/alert_channels/${id}`;
      const shown = await client.get<One<Channel>>(path);
      expect(shown.body.data).toMatchObject({ type: 'webhook', name: 'Bot', url: hook.url });
      expect(shown.text).not.toContain('whsec_');
      const { data } = expectStatus(
        await client.post<One<{ delivered: boolean }>>(`${path}/test`, undefined),
        200,
      ).body;
      expect(data).toMatchObject({ delivered: true, status: 200, error: null });
      const [request] = hook.requests;
      expect(request?.headers['x-service-signature']).toBe(
        createHmac('sha256', secret)
          .update(request?.body ?? '')
          .digest('hex'),
      );
      await hook.close();
    });

    test('secrets of channels are write-only, and a change needs the current version', async () => {
      const key = 'integration-key-of-a-service';
      const pagerDuty = { type: 'pagerduty', name: 'Night', routing_key: key };
      const created = expectStatus(await client.post<One<Channel>>('/v1/alert_channels', pagerDuty), 201);
      const path = `/v1/alert_channels/${created.body.data.id}`;
      expect(created.body.data).toMatchObject({ hint: '…vice', url: null });
      const ifMatch = { headers: { 'If-Match': created.headers.etag ?? '' } };
      expectStatus(await client.patch(path, { name: 'Day' }, ifMatch), 200);
      expectStatus(await client.patch(path, { name: 'Night' }, ifMatch), 412);
      expectStatus(await client.put('/v1/alert_rules/quota', { channels: [created.body.data.id] }), 200);
      const list = await client.get<List<Channel>>('/v1/alert_channels?per_page=1');
      expect(list.body.meta.total).toBeGreaterThan(0);
      const audit = await client.get('/v1/audit_log?action=alert_channel.');
      for (const { text } of [created, list, audit]) expect(text).not.toContain(key);
      expectStatus(await client.delete(path), 204);
      expectStatus(await client.get(path), 404);
      expect((await client.get<One<Rule>>('/v1/alert_rules/quota')).body.data).toMatchObject({ channels: [] });
    });

    test('a channel calls only URLs that webhooks may call', async () => {
      const post = (type: string, url: unknown) => client.post('/v1/alert_channels', { type, name: 'x', url });
      const urls = [
        'http://10.0.0.1/',
        'https://169.254.169.254/',
        'ftp://example.com/',
        'https://u:p@example.com/',
        7,
      ];
      for (const url of urls) {
        for (const type of ['slack', 'webhook']) expectStatus(await post(type, url), 400);
      }
      expectStatus(await post('sms', 'https://example.com'), 400);
      expectStatus(await client.put('/v1/alert_rules/quota', { channels: ['chn_unknown'] }), 400);
    });
  });
}
