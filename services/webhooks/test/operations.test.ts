import { createHmac } from 'node:crypto';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant } from './support.ts';

const conflict = { code: 'conflict' };

describe('operating webhooks and deliveries', () => {
  let rms: Awaited<ReturnType<typeof startWebhooks>>;
  let receiver: Receiver;
  beforeAll(async () => {
    rms = await startWebhooks({ eraseOnDelete: true });
  });
  afterAll(() => rms?.stop());
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  const subscribe = async (tenant: Tenant, maxRetries = 0, delayMs = 20) => {
    const { webhook, secret } = await rms.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
    const id = webhook?.id ?? '';
    const delay = durationFromMs(delayMs);
    const retryPolicy = { maxRetries, initialDelay: delay, maxDelay: delay };
    await rms.webhooks.updateWebhook({ ...tenant, id, retryPolicy });
    return { id, secret };
  };
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

  test('a test sends one sample event, returns the response, and is not in the delivery log', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant, 5);
    receiver.respondWith((_, response) => void response.writeHead(418).end('no coffee'));
    const { attempt, responseBody } = await rms.webhooks.testWebhook({ ...tenant, id });
    expect(attempt).toMatchObject({ statusCode: 418, error: 'status: 418' });
    expect(responseBody).toBe('no coffee');
    expect(receiver.requests.map(({ json }) => json.type)).toEqual(['resource.created']);
    expect(await rms.list(tenant)).toEqual([]);
  });

  test('a repeated test with the idempotency key is not sent again; during the first one it gets conflict', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant);
    const request = { ...tenant, id, eventType: 'resource.deleted', idempotencyKey: 'once' };
    let respond = () => {};
    receiver.respondWith((_, response) => {
      respond = () => void response.writeHead(200).end('done');
    });
    const first = rms.webhooks.testWebhook(request);
    await waitUntil(() => receiver.requests.length === 1, { what: 'the test' });
    await expect(rms.webhooks.testWebhook(request)).rejects.toMatchObject(conflict);
    respond();
    const { replayed, ...answer } = await first;
    expect([replayed, answer.responseBody, answer.url]).toEqual([false, 'done', receiver.url]);
    expect(answer.requestBody).toBe(receiver.requests[0]?.body.toString());
    expect(await rms.webhooks.testWebhook(request)).toEqual({ ...answer, replayed: true });
    expect(receiver.requests).toHaveLength(1);
    await expect(rms.webhooks.testWebhook({ ...request, eventType: 'resource.created' })).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
  });

  test('a test whose caller gives up is recorded; a repetition returns its result and sends nothing', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant);
    const request = { ...tenant, id, idempotencyKey: 'abandoned' };
    let respond = () => {};
    receiver.respondWith((_, response) => {
      respond = () => void response.writeHead(200).end('done');
    });
    const abort = new AbortController();
    const abandoned = rms.webhooks.testWebhook(request, { signal: abort.signal }).catch(() => {});
    await waitUntil(() => receiver.requests.length === 1, { what: 'the test' });
    abort.abort();
    await abandoned;
    // This call uses the same connection as the cancellation, so the service has read it once it responds.
    await expect(rms.webhooks.testWebhook(request)).rejects.toMatchObject(conflict);
    respond();
    const repeated = await waitUntil(() => rms.webhooks.testWebhook(request), { what: 'the result' });
    expect(repeated).toMatchObject({ attempt: { statusCode: 200 }, responseBody: 'done', replayed: true });
    expect(receiver.requests).toHaveLength(1);
  });

  test('a test whose process died frees its idempotency key after a minute', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant);
    const request = { ...tenant, id, idempotencyKey: 'interrupted' };
    receiver.respondWith(() => {});
    const first = rms.webhooks.testWebhook(request).catch(() => {});
    await waitUntil(() => receiver.requests.length === 1, { what: 'the test' });
    const age =
      "update webhooks.idempotency_keys set expires_at = expires_at - interval '60 seconds' where workspace_id = $1";
    await rms.database.pool.query(age, [tenant.workspaceId]);
    receiver.respondWith((_, response) => void response.writeHead(200).end());
    expect((await rms.webhooks.testWebhook(request)).replayed).toBe(false);
    await receiver.close();
    await first;
    expect(await rms.webhooks.testWebhook(request)).toMatchObject({ attempt: { statusCode: 200 }, replayed: true });
  });

  test('test deliveries per minute are limited per workspace and environment', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant, 5);
    const other = newTenant();
    const { id: otherId } = await subscribe(other, 5);
    const before = receiver.requests.length;
    const tests = await Promise.allSettled(
      Array.from({ length: 13 }, () => rms.webhooks.testWebhook({ ...tenant, id })),
    );
    const rejected = tests.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(rejected).toHaveLength(3);
    expect(rejected[0]).toMatchObject({
      code: 'rate_limit_exceeded',
      message: 'A workspace can test its webhooks 10 times per minute in each environment. Try again later.',
    });
    expect(receiver.requests).toHaveLength(before + 10);
    await rms.webhooks.testWebhook({ ...other, id: otherId });
    await rms.database.pool.query("update webhooks.test_counts set starts_at = starts_at - interval '1 minute'");
    await rms.webhooks.testWebhook({ ...tenant, id });
  });

  test('Retry-After replaces a shorter delay', async () => {
    const tenant = newTenant();
    await subscribe(tenant, 5);
    receiver.respondWith((_, response) => void response.writeHead(429, { 'retry-after': '3600' }).end());
    await rms.publish(newEvent(tenant));
    const next = await waitUntil(
      async () => (await rms.list(tenant))[0]?.attempts.length === 1 && (await rms.list(tenant))[0],
      {
        what: 'the first attempt',
      },
    );
    expect(next.status).toBe(DeliveryStatus.RETRYING);
    expect(Number(next.nextAttemptTime?.seconds)).toBeGreaterThan(Date.now() / 1000 + 3_000);
  });

  test('disabling a webhook ends its pending deliveries, which can be redelivered after it is enabled', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant, 5, 3_600_000);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    await waitUntil(async () => (await rms.list(tenant))[0]?.attempts.length === 1, { what: 'the first attempt' });
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
    await waitUntil(async () => (await rms.list(tenant))[0]?.attempts.length === 1, { what: 'the first attempt' });
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
    await waitUntil(async () => (await rms.list(tenant))[0]?.attempts.length === 1, { what: 'the first attempt' });
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
});
