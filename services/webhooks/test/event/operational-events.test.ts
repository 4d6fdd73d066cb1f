import { create } from '@bufbuild/protobuf';
import { deliveryDocument } from '@rms/api/delivery/document';
import { newId } from '@rms/base/ids';
import {
  DeleteOperationalEventsResponseSchema,
  ListOperationalEventsResponseSchema,
} from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import { newEvent, newEvents, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

interface Envelope {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly object: Record<string, unknown> };
}

describe('operational events', () => {
  const rms = perSuite(() => startWebhooks());
  /** Receives operational events. */
  const observer = perTest(startReceiver);
  /** Endpoint of the webhook that the events are about. */
  const endpoint = perTest(startReceiver);

  const feedOf = async (tenant: Tenant, more: object = {}) => {
    const { events } = await rms.feed.listEvents({ ...tenant, pageSize: 1_000, withOperational: true, ...more });
    return events.map(({ body }) => JSON.parse(Buffer.from(body).toString('utf8')) as Envelope);
  };
  const typesIn = async (tenant: Tenant) => (await feedOf(tenant)).map(({ type }) => type);
  const untilTypes = (tenant: Tenant, types: readonly string[]) =>
    waitUntil(async () => (await typesIn(tenant)).join() === types.join(), { what: `the events ${types.join()}` });
  const received = (type: string) =>
    observer.waitFor(({ json }) => (json as Envelope).type === type, `the delivery of ${type}`);
  const observe = (tenant: Tenant, ...events: string[]) => rms.subscribe(tenant, observer.url, { events });
  const setStatus = (tenant: Tenant, id: string, status: WebhookStatus) =>
    rms.webhooks.updateWebhook({ ...tenant, id, status });

  test('delivery.failed: once, signed, to a webhook that names it, not to "*" and not to the webhook itself', async () => {
    const tenant = newTenant();
    endpoint.respondWith(500);
    const events = ['resource.created', 'delivery.failed'];
    const { id } = await rms.subscribe(tenant, endpoint.url, { events, retryPolicy: retries(0, 1_000) });
    const { secret } = await observe(tenant, 'delivery.failed');
    const all = await rms.subscribe(tenant, observer.url);
    const resourceEvent = newEvent(tenant);
    await rms.publish(resourceEvent);
    const { headers, body, json } = await received('delivery.failed');
    new StandardWebhook(secret).verify(body.toString('utf8'), headers as Record<string, string>);
    const [failed] = await rms.list(tenant, { webhookId: id });
    expect((json as Envelope).data.object).toEqual(deliveryDocument(failed));
    expect(failed).toMatchObject({ endReason: 'retries_exhausted', eventId: resourceEvent.id });
    await rms.settled(tenant, 3);
    expect((await typesIn(tenant)).filter((type) => type === 'delivery.failed')).toHaveLength(1);
    const typesOf = async (webhookId: string) =>
      (await rms.list(tenant, { webhookId })).map(({ eventType }) => eventType);
    expect([await typesOf(id), await typesOf(all.id)]).toEqual([['resource.created'], ['resource.created']]);
  });

  test('a failing webhook that names delivery.failed causes no further events', async () => {
    const tenant = newTenant();
    endpoint.respondWith(500);
    observer.respondWith(500);
    const policy = { retryPolicy: retries(0, 1_000) };
    await rms.subscribe(tenant, endpoint.url, { events: ['resource.created'], ...policy });
    const failing = await rms.subscribe(tenant, observer.url, { events: ['delivery.failed'], ...policy });
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 2);
    expect(await rms.list(tenant, { webhookId: failing.id })).toMatchObject([{ endReason: 'retries_exhausted' }]);
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 4);
    const types = ['resource.created', 'delivery.failed', 'resource.created', 'delivery.failed'];
    expect((await typesIn(tenant)).filter((type) => !type.startsWith('webhook.'))).toEqual(types);
  });

  test('webhook.disabled and webhook.enabled: once per change, with the webhook but without its secret', async () => {
    const tenant = newTenant();
    const { id, secret } = await rms.subscribe(tenant, endpoint.url, {
      events: ['webhook.disabled', 'webhook.enabled'],
    });
    await observe(tenant, 'webhook.disabled', 'webhook.enabled');
    await setStatus(tenant, id, WebhookStatus.DISABLED);
    await setStatus(tenant, id, WebhookStatus.DISABLED);
    await setStatus(tenant, id, WebhookStatus.ACTIVE);
    const { webhook } = await rms.webhooks.getWebhook({ ...tenant, id });
    await untilTypes(tenant, ['webhook.disabled', 'webhook.enabled']);
    const [disabled, enabled] = await feedOf(tenant);
    expect(disabled?.data.object).toMatchObject({ id, status: 'disabled', disabled_reason: 'manual' });
    expect(enabled?.data.object).toMatchObject({ id, status: 'active', version: Number(webhook?.version) });
    expect(JSON.stringify(await feedOf(tenant))).not.toContain(secret);
    await received('webhook.enabled');
    expect(endpoint.requests).toEqual([]);
  });

  test('webhook.disabled: one event for a webhook that is gone, however many deliveries are queued', async () => {
    const tenant = newTenant();
    endpoint.respondWith(410);
    await rms.subscribe(tenant, endpoint.url, { events: ['resource.created'] });
    await rms.publish(...newEvents(tenant, 100));
    await rms.settled(tenant, 100);
    await waitUntil(async () => (await typesIn(tenant)).includes('webhook.disabled'), { what: 'the event' });
    const operational = (await feedOf(tenant)).filter(({ type }) => !type.startsWith('resource.'));
    expect(operational.filter(({ type }) => type === 'webhook.disabled')).toHaveLength(1);
    expect(operational.map(({ type }) => type)).not.toContain('delivery.failed');
    expect(operational.at(-1)?.data.object).toMatchObject({ disabled_reason: 'gone' });
  });

  test('webhook.failing and webhook.recovered: once per failure, not for a single failed attempt', async () => {
    const tenant = newTenant();
    const { id } = await rms.subscribe(tenant, endpoint.url, {
      events: ['resource.created'],
      retryPolicy: retries(1, 10),
    });
    await observe(tenant, 'webhook.failing', 'webhook.recovered');
    const publish = async (...statuses: number[]) => {
      endpoint.respondWith((_, response) => void response.writeHead(statuses.shift() ?? 200).end());
      await rms.publish(newEvent(tenant));
      const ended = async () =>
        (await rms.list(tenant, { webhookId: id })).every(({ endReason, attemptCount }) => endReason || attemptCount);
      await waitUntil(ended, { what: 'the delivery to end' });
      await waitUntil(() => statuses.length === 0, { what: 'the attempts' });
    };
    await publish(500, 200);
    await publish(500, 500);
    await publish(500, 500);
    await publish(200);
    await publish(200);
    const ofWebhook = async () => (await feedOf(tenant)).filter(({ type }) => type.startsWith('webhook.'));
    await waitUntil(async () => (await ofWebhook()).length === 2, { what: 'both events' });
    expect((await ofWebhook()).map(({ type, data }) => [type, data.object.id])).toEqual([
      ['webhook.failing', id],
      ['webhook.recovered', id],
    ]);
    await received('webhook.recovered');
    await publish(500, 500);
    await waitUntil(async () => (await ofWebhook()).length === 3, { what: 'the next failure' });
  });

  test('readers without operational events get the others, page by page, with the same sequences', async () => {
    const tenant = newTenant();
    const { id } = await observe(tenant, 'api_key.created');
    const toggle = async () => {
      await setStatus(tenant, id, WebhookStatus.DISABLED);
      await setStatus(tenant, id, WebhookStatus.ACTIVE);
    };
    const types: string[] = [];
    const add = async (change: () => Promise<unknown>, ...added: string[]) => {
      await change();
      types.push(...added);
      await untilTypes(tenant, types);
    };
    const both = ['webhook.disabled', 'webhook.enabled'];
    await add(toggle, ...both);
    await add(() => rms.publish(newEvent(tenant), newEvent(tenant)), 'resource.created', 'resource.created');
    await add(toggle, ...both);
    await add(() => rms.publish(newEvent(tenant)), 'resource.created');
    await add(toggle, ...both);
    const pagesOf = async (withOperational: boolean, pageSize: number) => {
      const pages: number[][] = [];
      const previous: (number | undefined)[] = [];
      for (let after = 0n, hasMore = true; hasMore; ) {
        const page = await rms.feed.listEvents({ ...tenant, after, pageSize, withOperational });
        pages.push(page.events.map(({ position }) => Number(position)));
        previous.push(page.previousAfter === undefined ? undefined : Number(page.previousAfter));
        after = page.events.at(-1)?.position ?? after;
        hasMore = page.hasMore;
        expect(page).toMatchObject({ oldestPosition: 1n, newestPosition: 9n });
      }
      return { pages, previous };
    };
    expect(await pagesOf(true, 4)).toEqual({
      pages: [[1, 2, 3, 4], [5, 6, 7, 8], [9]],
      previous: [undefined, 0, 4],
    });
    expect(await pagesOf(false, 2)).toEqual({ pages: [[3, 4], [7]], previous: [undefined, 2] });
    expect(await pagesOf(false, 1)).toEqual({ pages: [[3], [4], [7]], previous: [undefined, 2, 3] });
    expect(await pagesOf(false, 3)).toEqual({ pages: [[3, 4, 7]], previous: [undefined] });
    const [operational] = await feedOf(tenant);
    const get = (withOperational: boolean) =>
      rms.feed.getEvent({ ...tenant, id: operational?.id ?? '', withOperational });
    expect((await get(true)).event).toMatchObject({ type: 'webhook.disabled' });
    await expect(get(false)).rejects.toMatchObject({ code: 'not_found' });
    const filter = JSON.stringify({ all: [{ field: 'status', op: 'eq', value: 'disabled' }] });
    const matches = (withOperational: boolean) =>
      rms.webhooks.testFilter({ ...tenant, filter, eventId: operational?.id ?? '', withOperational });
    expect(await matches(true)).toMatchObject({ matches: true });
    await expect(matches(false)).rejects.toMatchObject({ code: 'not_found' });
    const watched: bigint[] = [];
    for await (const { event } of rms.feed.watchEvents({ ...tenant, after: 0n })) {
      watched.push(event?.position ?? 0n);
      if (watched.length === 3) break;
    }
    expect(watched).toEqual([3n, 4n, 7n]);
  });
});

test('operational events of another service are stored once, in order, and those that cannot be stored do not delay others', async () => {
  const [tenant, other] = [newTenant(), newTenant()];
  const eventOf = (owner: Tenant, type: string) => ({
    ...newEvent(owner, type),
    resourceId: newId('key'),
    sequence: 1n,
  });
  const queued = new Map(
    [
      eventOf(other, 'resource.created'),
      eventOf(tenant, 'api_key.created'),
      eventOf(tenant, 'api_key.revoked'),
      { ...eventOf(other, 'api_key.created'), body: Buffer.alloc(0) },
      eventOf(other, 'api_key.rolled'),
    ].map((event) => [event.id, event]),
  );
  const [repeated] = [...queued.values()].slice(1);
  let failures = 2;
  const source = {
    async listOperationalEvents() {
      return create(ListOperationalEventsResponseSchema, { events: [...queued.values()] });
    },
    async deleteOperationalEvents({ events = [] }: { events?: readonly { id?: string }[] }) {
      failures -= 1;
      if (failures >= 0) throw new Error('unavailable');
      for (const { id } of events) queued.delete(id ?? '');
      return create(DeleteOperationalEventsResponseSchema);
    },
    close() {},
  };
  await using rms = Object.assign(await startWebhooks({}, { operational: { auth: source as never } }), {
    [Symbol.asyncDispose]: () => rms.stop(),
  });
  const typesOf = async (owner: Tenant) => {
    const { events } = await rms.feed.listEvents({ ...owner, pageSize: 10, withOperational: true });
    return events.map(({ type }) => type);
  };
  const untilEmpty = () => waitUntil(() => queued.size === 0, { what: 'the events to be stored', timeoutMs: 30_000 });
  await untilEmpty();
  expect(await typesOf(tenant)).toEqual(['api_key.created', 'api_key.revoked']);
  expect(await typesOf(other)).toEqual(['api_key.rolled']);
  if (repeated) queued.set(repeated.id, repeated);
  await untilEmpty();
  expect(await typesOf(tenant)).toEqual(['api_key.created', 'api_key.revoked']);
});
