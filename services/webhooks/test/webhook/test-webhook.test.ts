import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { eventTypes } from '@rms/base/webhook-events';
import { DeliveryGrouping } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { findOwners } from '../../src/rpc/find-workspaces.ts';
import { newEvent, newTenant, startWebhooks, type Tenant } from '../support.ts';

const conflict = { code: 'conflict' };

describe('test events', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perTest(startReceiver);

  const subscribe = (tenant: Tenant, events = ['*']) => rms.subscribe(tenant, receiver.url, { events });

  test('a test sends one sample event, returns the response, and is in the delivery log with both bodies', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant);
    receiver.respondWith((_, response) => void response.writeHead(418).end('no coffee \0'));
    const { attempt, responseBody, requestBody, deliveryId } = await rms.webhooks.testWebhook(
      { ...tenant, id },
      { context: { requestId: 'req_of_a_test' } },
    );
    expect(attempt).toMatchObject({ statusCode: 418, error: 'status: 418' });
    expect(responseBody).toBe('no coffee \0');
    const [received, ...others] = receiver.requests;
    expect([received?.body.toString(), received?.json.type, others]).toEqual([requestBody, 'resource.created', []]);
    const { delivery, requestBody: logged } = await rms.deliveries.getDelivery({ ...tenant, id: deliveryId });
    expect(Buffer.from(logged).toString()).toBe(requestBody);
    expect(delivery).toMatchObject({
      origin: 'test',
      status: DeliveryStatus.FAILED,
      eventId: received?.json.id,
      eventType: 'resource.created',
      webhookId: id,
      requestId: 'req_of_a_test',
      attemptCount: 1,
      attempts: [{ number: 1, statusCode: 418, url: receiver.url }],
    });
    expect(Buffer.from(delivery?.attempts[0]?.responseBody ?? []).toString()).toBe('no coffee \0');
    receiver.respondWith(200);
    await rms.webhooks.testWebhook({ ...tenant, id });
    expect((await rms.list(tenant)).map(({ status }) => status)).toEqual([
      DeliveryStatus.DELIVERED,
      DeliveryStatus.FAILED,
    ]);
  });

  test('the log is filtered by test deliveries and by their event', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant);
    const event = newEvent(tenant);
    await rms.publish(event);
    await rms.settled(tenant, 1);
    const { deliveryId, requestBody } = await rms.webhooks.testWebhook({ ...tenant, id });
    const sample = JSON.parse(requestBody);
    const found = async (filter: object) => (await rms.list(tenant, filter)).map(({ eventId }) => eventId);
    expect(await found({})).toEqual([sample.id, event.id]);
    expect(await found({ test: true })).toEqual([sample.id]);
    expect(await found({ test: false })).toEqual([event.id]);
    expect(await found({ test: true, statuses: [DeliveryStatus.PENDING] })).toEqual([]);
    expect(await found({ eventId: sample.id })).toEqual([sample.id]);
    expect(await found({ eventId: event.id, test: true })).toEqual([]);
    expect(await found({ eventId: newId('evt') })).toEqual([]);
    expect(await findOwners(rms.database.pool, deliveryId, 2)).toEqual([tenant.workspaceId]);
    const onlyTests = newTenant();
    const { id: other } = await subscribe(onlyTests);
    const { deliveryId: first } = await rms.webhooks.testWebhook({ ...onlyTests, id: other });
    expect(await findOwners(rms.database.pool, first, 2)).toEqual([onlyTests.workspaceId]);
  });

  test('a failed test is not redelivered, replayed or counted, and has no effect on the webhook', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant);
    const before = await rms.webhooks.getWebhook({ ...tenant, id });
    receiver.respondWith(410);
    const { deliveryId } = await rms.webhooks.testWebhook({ ...tenant, id });
    expect((await rms.webhooks.getWebhook({ ...tenant, id })).webhook).toEqual(before.webhook);
    await expect(rms.deliveries.redeliverDelivery({ ...tenant, id: deliveryId })).rejects.toMatchObject({
      ...conflict,
      message: 'A test delivery cannot be redelivered. Send another test event.',
    });
    await expect(rms.deliveries.cancelDelivery({ ...tenant, id: deliveryId })).rejects.toMatchObject(conflict);
    const since = timestampFromMs(Date.now() - 60_000);
    const replay = { ...tenant, webhookId: id, since };
    const statuses = [DeliveryStatus.FAILED, DeliveryStatus.DELIVERED];
    expect((await rms.deliveries.replayDeliveries({ ...replay, statuses, dryRun: true })).count).toBe(0n);
    const groupBy = DeliveryGrouping.STATUS;
    expect((await rms.deliveries.countDeliveries({ workspaceId: tenant.workspaceId, groupBy })).count).toBe(0n);
    expect((await rms.feed.listEvents({ ...tenant, pageSize: 10 })).events).toEqual([]);
    const { healths } = await rms.webhooks.batchGetWebhookHealth({ ...tenant, ids: [id] });
    expect(healths[0]?.unfinished).toBe(0);
    expect(healths[0]?.failingSince).toBeUndefined();
    const { rows } = await rms.database.pool.query(
      `select (select count(*) from webhooks.attempt_counts where webhook_id = $1)::integer as counts,
              (select count(*) from webhooks.endpoints where webhook_id = $1)::integer as endpoints,
              (select count(*) from webhooks.notices where subject_id = $1)::integer as notices`,
      [id],
    );
    expect(rows).toEqual([{ counts: 0, endpoints: 0, notices: 0 }]);
  });

  test('a test sends the chosen type, by default the first one that the webhook receives, and no other', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant, ['resource.status_changed', 'resource.updated']);
    await rms.webhooks.testWebhook({ ...tenant, id });
    await rms.webhooks.testWebhook({ ...tenant, id, eventType: 'resource.status_changed' });
    expect(receiver.requests.map(({ json }) => json.type)).toEqual(['resource.updated', 'resource.status_changed']);
    for (const eventType of ['resource.created', '*', 'resource.renamed']) {
      await expect(rms.webhooks.testWebhook({ ...tenant, id, eventType })).rejects.toMatchObject({
        code: 'invalid_request',
        details: [
          {
            field: 'event_type',
            message: 'must be a type that the webhook receives: resource.updated, resource.status_changed',
          },
        ],
      });
    }
    for (const eventType of eventTypes) {
      const other = newTenant();
      const { id: named } = await subscribe(other, [eventType]);
      await rms.webhooks.testWebhook({ ...other, id: named, eventType });
    }
    expect(receiver.requests.slice(2).map(({ json }) => json.type)).toEqual(eventTypes);
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
      "update webhooks.idempotency_keys set expires_at = expires_at - interval '61 seconds' where workspace_id = $1";
    await rms.database.pool.query(age, [tenant.workspaceId]);
    receiver.respondWith((_, response) => void response.writeHead(200).end());
    expect((await rms.webhooks.testWebhook(request)).replayed).toBe(false);
    await receiver.close();
    await first;
    expect(await rms.webhooks.testWebhook(request)).toMatchObject({ attempt: { statusCode: 200 }, replayed: true });
  });

  test('test deliveries per minute are limited per workspace and environment', async () => {
    const tenant = newTenant();
    const { id } = await subscribe(tenant);
    const other = newTenant();
    const { id: otherId } = await subscribe(other);
    const before = receiver.requests.length;
    const tests = await Promise.allSettled(
      Array.from({ length: 13 }, () => rms.webhooks.testWebhook({ ...tenant, id })),
    );
    const rejected = tests.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(rejected).toHaveLength(3);
    expect(rejected[0]).toMatchObject({
      code: 'rate_limit_exceeded',
      message: 'A workspace can test its webhooks 10 times per minute in each environment. Try again in 60 s.',
    });
    expect(receiver.requests).toHaveLength(before + 10);
    await rms.webhooks.testWebhook({ ...other, id: otherId });
    await rms.database.pool.query("update webhooks.test_counts set starts_at = starts_at - interval '61 seconds'");
    await rms.webhooks.testWebhook({ ...tenant, id });
  });
});
