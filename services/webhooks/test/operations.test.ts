import { createHmac } from 'node:crypto';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, retries, startWebhooks, type Tenant } from './support.ts';

const conflict = { code: 'conflict' };

describe('operating webhooks and deliveries', () => {
  const rms = perSuite(() => startWebhooks({ eraseOnDelete: true }));
  const receiver = perTest(startReceiver);

  const subscribe = (tenant: Tenant, maxRetries = 0, delayMs = 20) =>
    rms.subscribe(tenant, receiver.url, { retryPolicy: retries(maxRetries, delayMs) });
  const onlyDelivery = async (tenant: Tenant) => {
    const [delivery] = await rms.list(tenant);
    return { id: delivery?.id ?? '', status: delivery?.status };
  };

  test('deliveries after a rotation are signed with the new secret', async () => {
    const tenant = newTenant();
    const { id, secret } = await subscribe(tenant);
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 1);
    const rotated = await rms.webhooks.rotateSecret({ ...tenant, id });
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 2);
    const expected = [secret, rotated.secret].map((key, i) =>
      createHmac('sha256', key)
        .update(receiver.requests[i]?.body ?? '')
        .digest('hex'),
    );
    expect(receiver.requests.map(({ headers }) => headers['x-service-signature'])).toEqual(expected);
  });

  test('Retry-After replaces a shorter delay', async () => {
    const tenant = newTenant();
    await subscribe(tenant, 5);
    receiver.respondWith((_, response) => void response.writeHead(429, { 'retry-after': '3600' }).end());
    await rms.publish(newEvent(tenant));
    const [next] = await rms.retrying(tenant);
    expect(next?.attempts).toHaveLength(1);
    expect(Number(next?.nextAttemptTime?.seconds)).toBeGreaterThan(Date.now() / 1000 + 3_000);
  });

  test('disabling a webhook ends its pending deliveries, which can be redelivered after it is enabled', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant, 5, 3_600_000);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    await rms.retrying(tenant);
    await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.DISABLED });
    const delivery = await onlyDelivery(tenant);
    expect(delivery.status).toBe(DeliveryStatus.FAILED);
    const replay = { ...tenant, webhookId: id, since: timestampFromMs(Date.now() - 60_000) };
    await expect(rms.deliveries.redeliverDelivery({ ...tenant, id: delivery.id })).rejects.toMatchObject(conflict);
    await expect(rms.deliveries.replayDeliveries(replay)).rejects.toMatchObject(conflict);
    receiver.respondWith(200);
    await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.ACTIVE });
    await rms.deliveries.redeliverDelivery({ ...tenant, id: delivery.id });
    const [again] = await rms.settled(tenant, 1);
    expect(again?.status).toBe(DeliveryStatus.DELIVERED);
  });

  test('deleting a webhook ends its pending deliveries; they stay in the log but cannot be redelivered', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant, 5, 3_600_000);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    await rms.retrying(tenant);
    await rms.webhooks.deleteWebhook({ ...tenant, id });
    await rms.publish(newEvent(tenant));
    const delivery = await onlyDelivery(tenant);
    expect(delivery.status).toBe(DeliveryStatus.FAILED);
    expect(await rms.list(tenant)).toHaveLength(1);
    await expect(rms.deliveries.redeliverDelivery({ ...tenant, id: delivery.id })).rejects.toMatchObject(conflict);
    expect(receiver.requests).toHaveLength(1);
  });

  test('status 410 ends all pending deliveries of the webhook', async () => {
    const tenant = newTenant();
    await subscribe(tenant, 5, 3_600_000);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    await rms.retrying(tenant);
    receiver.respondWith(410);
    await rms.publish(newEvent(tenant));
    const all = await rms.settled(tenant, 2);
    expect(all.map(({ status }) => status)).toEqual([DeliveryStatus.FAILED, DeliveryStatus.FAILED]);
  });

  test('the log is filtered by request, event, webhook and status', async () => {
    const tenant = newTenant();
    const first = await subscribe(tenant);
    await subscribe(tenant);
    const [one, other] = [newEvent(tenant), newEvent(tenant)];
    await rms.publish(one, other);
    await rms.settled(tenant, 4);
    const events = async (filter: object) => (await rms.list(tenant, filter)).map(({ eventId }) => eventId);
    expect(await events({ requestId: one.requestId })).toEqual([one.id, one.id]);
    expect(await events({ eventId: other.id })).toEqual([other.id, other.id]);
    expect(await events({ eventId: other.id, webhookId: first.id })).toEqual([other.id]);
    expect((await events({ webhookId: first.id })).sort()).toEqual([one.id, other.id].sort());
    expect(await events({ status: DeliveryStatus.FAILED })).toEqual([]);
    expect(await events({ requestId: 'unknown-request' })).toEqual([]);
    expect(await rms.list(newTenant(), { requestId: one.requestId })).toEqual([]);
  });

  test('no call can access a delivery of another workspace', async () => {
    const tenant = newTenant();
    const { id: webhookId } = await subscribe(tenant);
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 1);
    const { id } = await onlyDelivery(tenant);
    const notFound = { code: 'not_found' };
    const other = newTenant();
    await expect(rms.deliveries.getDelivery({ ...other, id })).rejects.toMatchObject(notFound);
    await expect(rms.deliveries.redeliverDelivery({ ...other, id })).rejects.toMatchObject(notFound);
    const replay = { ...other, webhookId, since: timestampFromMs(0) };
    await expect(rms.deliveries.replayDeliveries(replay)).rejects.toMatchObject(notFound);
    expect((await rms.deliveries.getDelivery({ ...tenant, id })).delivery?.id).toBe(id);
  });

  test('with ERASE_ON_DELETE, the event bodies of a deleted resource are erased after its deliveries have ended', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const created = newEvent(tenant);
    const deleted = newEvent(tenant, 'resource.deleted', 'thing', created.resourceId);
    const unrelated = newEvent(tenant);
    await rms.publish(created, deleted, unrelated);
    await rms.settled(tenant, 3);
    const withBody = async () => {
      const { rows } = await rms.database.pool.query<{ id: string }>(
        'select id from webhooks.events where workspace_id = $1 and body is not null order by id',
        [tenant.workspaceId],
      );
      return rows.map(({ id }) => id);
    };
    await waitUntil(async () => (await withBody()).length === 1, { what: 'the bodies to be erased' });
    expect(await withBody()).toEqual([unrelated.id]);
    const [erased] = await rms.list(tenant, { eventId: created.id });
    await expect(rms.deliveries.redeliverDelivery({ ...tenant, id: erased?.id ?? '' })).rejects.toMatchObject(conflict);
    const { events } = await rms.feed.listEvents({ ...tenant, pageSize: 10 });
    expect(events.map(({ position, id, type, body }) => [position, id, type, body.length > 0])).toEqual([
      [1n, created.id, 'resource.created', false],
      [2n, deleted.id, 'resource.deleted', false],
      [3n, unrelated.id, 'resource.created', true],
    ]);
  });

  test('with ERASE_ON_DELETE, a burst of deletions whose fan-out is delayed reaches every webhook', async () => {
    const tenant = newTenant();
    const webhooks = 6;
    for (let i = 0; i < webhooks; i += 1) await subscribe(tenant);
    const events = Array.from({ length: 100 }, () => {
      const created = newEvent(tenant);
      return [created, newEvent(tenant, 'resource.deleted', 'thing', created.resourceId)];
    }).flat();
    const holder = await rms.database.pool.connect();
    try {
      await holder.query('begin');
      await holder.query("select pg_advisory_xact_lock(hashtextextended('deferred events ' || $1 || ' live', 0))", [
        tenant.workspaceId,
      ]);
      await rms.publish(...events);
      const { rowCount } = await holder.query('select from webhooks.deferred_events where workspace_id = $1', [
        tenant.workspaceId,
      ]);
      expect(rowCount).toBeGreaterThan(0);
      // The erasure has run after the burst once it has erased this later event.
      const later = newEvent(newTenant(), 'resource.deleted');
      await rms.publish(later);
      const isErased = async () => {
        const { rows } = await rms.database.pool.query('select from webhooks.events where id = $1 and body is null', [
          later.id,
        ]);
        return rows.length === 1;
      };
      await waitUntil(isErased, { what: 'the erasure to run' });
    } finally {
      await holder.query('commit');
      holder.release();
    }
    const calls = () => new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
    await waitUntil(() => receiver.requests.length >= events.length * webhooks, { what: 'every call' });
    expect(calls().size).toBe(events.length);
  });
});
