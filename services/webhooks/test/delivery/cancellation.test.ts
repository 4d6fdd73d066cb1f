import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, perTest, startReceiver, testDatabase, waitUntil } from '@rms/testkit';
import { recordAttempts } from '../../src/engine/record/recorder.ts';
import { migrations } from '../../src/migrations.ts';
import { cancelQueued } from '../../src/rpc/cancel-delivery.ts';
import { redeliver } from '../../src/rpc/redeliver-delivery.ts';
import { responded, stepsOn } from '../leases.ts';
import { newEvent, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

const hourMs = 3_600_000;
const missing = (): never => {
  throw new Error('the delivery does not exist');
};

describe('a canceled delivery', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perTest(startReceiver);

  const subscribe = async (tenant: Tenant, { ordered = false, delayMs = hourMs } = {}) =>
    (await rms.subscribe(tenant, receiver.url, { ordered, retryPolicy: retries(3, delayMs) })).id;
  const cancel = (tenant: Tenant, id = '', idempotencyKey = '') =>
    rms.deliveries.cancelDelivery({ ...tenant, id, idempotencyKey });
  const get = async (tenant: Tenant, id = '') =>
    (await rms.deliveries.getDelivery({ ...tenant, id })).delivery ?? missing();
  const retrying = (tenant: Tenant) =>
    waitUntil(async () => (await rms.list(tenant, { status: DeliveryStatus.RETRYING }))[0], { what: 'a retry' });
  const actionsOf = async ({ workspaceId }: Tenant) => {
    const { rows } = await rms.database.pool.query<{ action: string }>(
      `select action from audit.entries where workspace_id = $1 and action like 'delivery.%' order by id`,
      [workspaceId],
    );
    return rows.map(({ action }) => action);
  };

  test('ends with its attempts, is in the audit log, and gets no further attempt', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    const { id } = await retrying(tenant);
    const { delivery } = await cancel(tenant, id);
    expect(delivery).toMatchObject({ id, status: DeliveryStatus.CANCELED, attemptCount: 1, endReason: 'canceled' });
    expect(delivery?.nextAttemptTime).toBeUndefined();
    expect(delivery?.endTime).toBeDefined();
    expect(await get(tenant, id)).toMatchObject({ status: DeliveryStatus.CANCELED, attempts: [{ statusCode: 500 }] });
    expect(await actionsOf(tenant)).toEqual(['delivery.canceled']);
    const { rows } = await rms.database.pool.query('select from webhooks.deliveries where id = $1', [id]);
    expect(rows).toEqual([]);
  });

  test('cannot be canceled twice, except with the same Idempotency-Key; an ended or unknown one cannot either', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    const { id } = await retrying(tenant);
    const first = await cancel(tenant, id, 'once');
    expect(await cancel(tenant, id, 'once')).toEqual({ ...first, replayed: true });
    await expect(cancel(tenant, id)).rejects.toMatchObject({
      code: 'conflict',
      message: 'The delivery has already ended with status `canceled`.',
    });
    await expect(cancel(tenant, newId('dlv'))).rejects.toMatchObject({ code: 'not_found' });
    receiver.respondWith(200);
    await rms.publish(newEvent(tenant));
    const [delivered] = await waitUntil(
      async () => {
        const found = await rms.list(tenant, { status: DeliveryStatus.DELIVERED });
        return found.length === 1 && found;
      },
      { what: 'the second delivery' },
    );
    await expect(cancel(tenant, delivered?.id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await actionsOf(tenant)).toEqual(['delivery.canceled']);
  });

  test('has a status of its own in filters, and is sent by a redelivery but by no replay', async () => {
    const tenant = newTenant();
    const webhookId = await subscribe(tenant);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    const { id } = await retrying(tenant);
    await cancel(tenant, id);
    const idsOf = async (...statuses: DeliveryStatus[]) => (await rms.list(tenant, { statuses })).map((one) => one.id);
    expect(await idsOf(DeliveryStatus.CANCELED)).toEqual([id]);
    expect(await idsOf(DeliveryStatus.FAILED, DeliveryStatus.SKIPPED, DeliveryStatus.DELIVERED)).toEqual([]);
    const replay = { ...tenant, webhookId, since: timestampFromMs(0), dryRun: true };
    const statuses = [DeliveryStatus.FAILED, DeliveryStatus.SKIPPED, DeliveryStatus.DELIVERED];
    expect(await rms.deliveries.replayDeliveries({ ...replay, statuses })).toMatchObject({ count: 0n });
    await expect(
      rms.deliveries.replayDeliveries({ ...replay, statuses: [DeliveryStatus.CANCELED] }),
    ).rejects.toMatchObject({ code: 'invalid_request' });
    receiver.respondWith(200);
    await rms.deliveries.redeliverDelivery({ ...tenant, id });
    await waitUntil(async () => (await get(tenant, id)).status === DeliveryStatus.DELIVERED, {
      what: 'the redelivery',
    });
  });

  test.each([
    [200, DeliveryStatus.DELIVERED, { delivered: 1n, retried: 0n, failed: 0n }],
    [500, DeliveryStatus.CANCELED, { delivered: 0n, retried: 1n, failed: 0n }],
    [410, DeliveryStatus.CANCELED, { delivered: 0n, retried: 1n, failed: 0n }],
  ])('records the attempt in flight, which responds %i, without a retry', async (statusCode, status, counts) => {
    const tenant = newTenant();
    const webhookId = await subscribe(tenant, { delayMs: 10 });
    let respond = () => {};
    receiver.respondWith(async (_, response) => {
      await new Promise<void>((resolve) => {
        respond = resolve;
      });
      response.statusCode = statusCode;
      response.end();
    });
    await rms.publish(newEvent(tenant));
    await waitUntil(() => receiver.requests.length === 1, { what: 'the attempt' });
    const [pending] = await rms.list(tenant);
    expect((await cancel(tenant, pending?.id)).delivery).toMatchObject({ status: DeliveryStatus.CANCELED });
    respond();
    await waitUntil(async () => (await get(tenant, pending?.id)).attemptCount === 1, { what: 'the record' });
    expect(await get(tenant, pending?.id)).toMatchObject({ status, attempts: [{ number: 1, statusCode }] });
    const windows = await waitUntil(
      async () => {
        const { healths } = await rms.webhooks.batchGetWebhookHealth({ ...tenant, ids: [webhookId] });
        const [first] = healths[0]?.windows ?? [];
        return first && first.delivered + first.retried + first.failed > 0n && first;
      },
      { what: 'the counters' },
    );
    expect(windows).toMatchObject(counts);
    expect(receiver.requests).toHaveLength(1);
  });

  test('makes the next delivery of its resource due', async () => {
    const tenant = newTenant();
    await subscribe(tenant, { ordered: true });
    receiver.respondWith(500);
    const resourceId = newId('res');
    const events = [1n, 2n].map((sequence) => ({
      ...newEvent(tenant, 'resource.updated', 'thing', resourceId),
      sequence,
    }));
    await rms.publish(...events);
    const { id } = await retrying(tenant);
    receiver.respondWith(200);
    await cancel(tenant, id);
    await waitUntil(() => receiver.requests.length === 2, { what: 'the next delivery' });
    expect(receiver.requests.map(({ json }) => json.id)).toEqual(events.map((event) => event.id));
  });
});

describe('canceling on the tables', () => {
  const database = perSuite(() => testDatabase([migrations]));
  const steps = perSuite(() => stepsOn(database.pool));

  test('in an ordered webhook, the next delivery waits for the end of the lease of the attempt in flight', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant, { ordered: true });
    const resourceId = newId('res');
    const events = [1n, 2n].map((sequence) => ({
      ...newEvent(tenant, 'resource.updated', `${sequence}`, resourceId),
      sequence,
    }));
    const [job] = await steps.store(events, 10);
    expect(await cancelQueued(database.pool, steps.scopeOf(tenant), job?.id ?? '')).toBe(true);
    expect(await steps.claim()).toEqual([]);
    const { notEnded } = await recordAttempts(database.pool, [responded(job, 500)]);
    expect([...notEnded]).toEqual([job?.id]);
    await steps.endLeases();
    expect((await steps.claim()).map(({ eventId }) => eventId)).toEqual([events[1]?.id]);
  });

  test('a redelivery has its own attempts; a late failure of the first one does not end it', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    const [job] = await steps.store([newEvent(tenant)], 10);
    const scope = steps.scopeOf(tenant);
    await cancelQueued(database.pool, scope, job?.id ?? '');
    await redeliver(database.pool, scope, job?.id ?? '');
    const { notEnded } = await recordAttempts(database.pool, [responded(job, 410)]);
    expect([...notEnded]).toEqual([job?.id]);
    expect(await steps.logged(tenant)).toMatchObject([{ status: 'pending', attemptCount: 1 }]);
    const [again] = await steps.claim();
    await recordAttempts(database.pool, [responded(again, 200)]);
    expect(await steps.logged(tenant)).toMatchObject([{ status: 'delivered', attemptCount: 2 }]);
  });
});
