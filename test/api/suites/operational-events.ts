import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { expectStatus } from '../support/api-client.ts';
import type { ApiKey, FeedPage, One, Resource, Webhook } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { type Received, retryFast, subscribe } from '../support/subscriber.ts';

export function operationalEventsSuite(target: () => Target): void {
  describe('Operational events', () => {
    const account = perSuite(() => newAccount(target()));
    const client = perSuite(() => account.client('live', 'admin'));
    const reader = perSuite(() => account.client('live', 'read'));
    /** Receives the events. */
    const observer = perTest(() => startReceiver({ path: '' }));
    /** Endpoint of the webhooks that the events are about. */
    const endpoint = perTest(() => startReceiver({ path: '' }));
    const created: string[] = [];
    afterEach(async () => {
      for (const id of created.splice(0)) await client.delete(`/v1/webhooks/${id}`);
    });

    const observe = async (events: string[], receiver = observer) => {
      const subscriber = await subscribe(client, receiver, events);
      created.push(subscriber.webhook.id);
      return subscriber;
    };
    const typesOf = (received: readonly Received[]) => received.map(({ envelope }) => envelope.type);
    const feedOf = async (by = client) =>
      expectStatus(await by.get<FeedPage>('/v1/events?per_page=100'), 200).body.data;
    const operationalIn = async (by = client) => (await feedOf(by)).filter(({ type }) => !type.startsWith('resource.'));
    const emit = async () =>
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Event' }), 201).body.data;
    const newKey = async () =>
      expectStatus(await client.post<One<ApiKey>>('/v1/api_keys', { name: 'ci', scope: 'read' }), 201).body.data;

    test('an operational event is sent once, signed, to each webhook that names its type, and not to others', async () => {
      const named = await observe(['api_key.created']);
      const others = [await observe(['*']), await observe(['api_key.revoked', 'resource.created'])];
      const { id } = await newKey();
      const [received] = await named.waitForEventsOf(id, 1);
      const { headers, raw, envelope } = received as Received;
      expect(new StandardWebhook(named.secret).verify(raw.toString('utf8'), { ...headers })).toMatchObject({
        id: expect.stringMatching(/^evt_/),
        type: 'api_key.created',
      });
      const { id: resourceId } = await emit();
      for (const other of others) {
        await other.waitForEventsOf(resourceId, 1);
        expect(typesOf(other.received())).toEqual(['resource.created']);
      }
      expect(await named.waitForEventsOf(id, 1)).toHaveLength(1);
      const events = (await feedOf()).filter((event) => event.data?.object.id === id);
      const [{ sequence: _, ...inFeed } = {}] = events;
      expect([events.length, inFeed]).toEqual([1, envelope]);
    });

    test('api_key.created, api_key.rolled and api_key.revoked contain the key as GET returns it', async () => {
      const subscriber = await observe(['api_key.created', 'api_key.rolled', 'api_key.revoked']);
      const old = await newKey();
      const rolled = await client.post<One<ApiKey>>(`/v1/api_keys/${old.id}/roll`, { overlap: 0 });
      const { id, key } = expectStatus(rolled, 201).body.data;
      expectStatus(await client.delete(`/v1/api_keys/${id}`), 204);
      const received = [...(await subscriber.waitForEventsOf(old.id, 2)), ...(await subscriber.waitForEventsOf(id, 2))];
      expect(typesOf(received).sort()).toEqual([
        'api_key.created',
        'api_key.created',
        'api_key.revoked',
        'api_key.rolled',
      ]);
      const revoked = received.find(({ envelope }) => envelope.type === 'api_key.revoked');
      const { clients: _, ...current } = (await client.get<One<ApiKey & { clients: object[] }>>(`/v1/api_keys/${id}`))
        .body.data;
      expect(revoked?.envelope.data.object).toEqual({ ...current, version: 2 });
      expect(received.map(({ raw }) => `${raw}`).join()).not.toContain(key);
      const { data } = (await client.get<FeedPage>(`/v1/deliveries?resource_id=${id}`)).body;
      expect(data).toMatchObject([{ resource_id: id }, { resource_id: id }]);
    });

    test('webhook.disabled and webhook.enabled contain the webhook, and are not sent to that webhook', async () => {
      const types = ['webhook.disabled', 'webhook.enabled'];
      const about = await observe(types, endpoint);
      const subscriber = await observe(types);
      const path = `/v1/webhooks/${about.webhook.id}`;
      for (const status of ['disabled', 'disabled', 'active']) expectStatus(await client.patch(path, { status }), 200);
      const received = await subscriber.waitForEventsOf(about.webhook.id, 2);
      expect(typesOf(received).sort()).toEqual(types);
      const { health: _, ...current } = (await client.get<One<Webhook>>(path)).body.data;
      const enabled = received.find(({ envelope }) => envelope.type === 'webhook.enabled');
      expect(enabled?.envelope.data.object).toEqual({ ...current, version: expect.any(Number) });
      expect((await operationalIn()).filter(({ data }) => data?.object.id === about.webhook.id)).toHaveLength(2);
      expect(about.received()).toEqual([]);
    });

    test('delivery.failed is sent when the retries are used up; deliveries of operational events cause none', async () => {
      endpoint.respondWith(500);
      const failing = await observe(['resource.created', 'delivery.failed'], endpoint);
      await retryFast(account, failing.webhook.id, 1);
      const alsoFailing = await observe(['delivery.failed'], endpoint);
      await retryFast(account, alsoFailing.webhook.id, 0);
      const subscriber = await observe(['delivery.failed', 'webhook.failing', 'webhook.recovered']);
      const { id } = await emit();
      const [failed] = (await subscriber.waitFor(1)).filter(({ envelope }) => envelope.type === 'delivery.failed');
      const { data } = (await client.get<FeedPage>(`/v1/deliveries?webhook_id=${failing.webhook.id}`)).body;
      expect([failed?.envelope.data.object]).toEqual(data);
      expect(failed?.envelope.data.object).toMatchObject({
        resource_id: id,
        attempt_count: 2,
        end_reason: 'retries_exhausted',
      });
      await waitUntil(() => alsoFailing.received().length === 1, { what: 'the event at the second failing webhook' });
      endpoint.respondWith(200);
      await emit();
      await waitUntil(() => typesOf(subscriber.received()).includes('webhook.recovered'), { what: 'the recovery' });
      const about = (webhookId: string) =>
        subscriber.received().filter(({ envelope }) => envelope.data.object.id === webhookId);
      expect(typesOf(about(failing.webhook.id))).toEqual(['webhook.failing', 'webhook.recovered']);
      const all = await operationalIn();
      expect(all.filter(({ type }) => type === 'delivery.failed')).toHaveLength(1);
      expect(typesOf(failing.received()).every((type) => type === 'resource.created')).toBe(true);
    });

    test('quota.warning and quota.exceeded are sent once, with usage and quota', async () => {
      const { shape } = target();
      const mine = await newAccount(target());
      const plan = `events-${mine.workspaceId.slice(-8)}`;
      await shape.rms('plans', 'set', plan, '--quota', '10');
      await shape.rms('workspaces', 'plan', mine.workspaceId, '--plan', plan);
      const by = await mine.client('live', 'admin');
      const subscriber = await subscribe(by, observer, ['quota.warning', 'quota.exceeded']);
      for (let i = 0; i < 7; i += 1) await by.get('/v1/resources');
      await subscriber.waitFor(1);
      for (let i = 0; i < 2; i += 1) await by.get('/v1/resources');
      const received = await subscriber.waitFor(2);
      const workspace = { id: mine.workspaceId, type: 'workspace', limits: { requests_per_month: 10 } };
      expect(received.map(({ envelope }) => [envelope.type, envelope.data.object])).toMatchObject([
        ['quota.warning', { ...workspace, usage: { requests: 8 } }],
        ['quota.exceeded', { ...workspace, usage: { requests: 10 } }],
      ]);
    });

    test('operational events are in the feed for keys with scope admin only, also one by one', async () => {
      await newKey();
      const restricted = await client.post<One<ApiKey>>('/v1/api_keys', {
        name: 'feed',
        scope: 'restricted',
        permissions: ['events:read', 'webhooks:write'],
      });
      const permitted = account.clientWith('live', expectStatus(restricted, 201).body.data.key ?? '');
      const { id: resourceId } = await emit();
      const all = await waitUntil(
        async () => {
          const found = await feedOf();
          const isThere = found.some(({ data }) => data?.object.id === resourceId);
          return isThere && found.some(({ type }) => type === 'api_key.created') && found;
        },
        { what: 'the events' },
      );
      const aboutResources = all.filter(({ type }) => type.startsWith('resource.'));
      const operational = all.find(({ type }) => type === 'api_key.created');
      const path = `/v1/events/${operational?.id}`;
      expect(expectStatus(await client.get(path), 200).body).toEqual({ data: operational });
      for (const by of [reader, await account.client('live', 'write'), permitted]) {
        expect((await feedOf(by)).filter(({ sequence }) => sequence <= (all.at(-1)?.sequence ?? 0))).toEqual(
          aboutResources,
        );
        expect((await by.get(path)).status).toBe(404);
      }
      const filterTest = { filter: { all: [{ field: 'name', op: 'exists' }] }, event_id: operational?.id };
      expect((await client.post('/v1/webhooks/filter_test', filterTest)).status).toBe(200);
      expect((await permitted.post('/v1/webhooks/filter_test', filterTest)).status).toBe(404);
    });

    test('the pages of the feed are complete and without repeats for keys with and without operational events', async () => {
      for (let i = 0; i < 5; i += 1) {
        await newKey();
        await emit();
      }
      const newest = async () => (await client.get<FeedPage>('/v1/events?per_page=1')).body.meta.newest_sequence;
      const end = await waitUntil(
        async () => {
          const before = await newest();
          const keys = (await operationalIn()).filter(({ type }) => type === 'api_key.created');
          return keys.length >= 5 && (await newest()) === before && before;
        },
        { what: 'all events' },
      );
      for (const by of [client, reader]) {
        const whole = (await feedOf(by)).filter(({ sequence }) => sequence <= end);
        for (const perPage of [1, 2, 3]) {
          const pages: FeedPage[] = [];
          for (let url: string | null = `/v1/events?per_page=${perPage}`; url !== null; ) {
            const page: FeedPage = expectStatus(await by.get<FeedPage>(url), 200).body;
            pages.push(page);
            url = page.links.next;
          }
          const seen = pages.flatMap(({ data }) => data).filter(({ sequence }) => sequence <= end);
          expect(seen).toEqual(whole);
          const backwards = [pages.at(-1) as FeedPage];
          for (let url = backwards[0]?.links.prev ?? null; url !== null; url = backwards.at(-1)?.links.prev ?? null)
            backwards.push(expectStatus(await by.get<FeedPage>(url), 200).body);
          expect(backwards.map(({ data }) => data).reverse()).toEqual(pages.map(({ data }) => data));
        }
      }
    });
  });
}
