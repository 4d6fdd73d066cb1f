import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

describe('a redelivery', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perTest(startReceiver);

  const subscribe = async (tenant: Tenant, maxRetries: number, delayMs: number, ordered = false) =>
    (await rms.subscribe(tenant, receiver.url, { ordered, retryPolicy: retries(maxRetries, delayMs) })).id;
  const redeliver = (tenant: Tenant, id = '') => rms.deliveries.redeliverDelivery({ ...tenant, id });
  const ended = (tenant: Tenant, id = '', attempts = 0) =>
    waitUntil(
      async () => {
        const { delivery } = await rms.deliveries.getDelivery({ ...tenant, id });
        const over = delivery && ![DeliveryStatus.PENDING, DeliveryStatus.RETRYING].includes(delivery.status);
        return over && delivery.attempts.length >= attempts && delivery;
      },
      { what: 'the end of the delivery' },
    );

  test('makes a pending or retrying delivery due immediately, and repeats a successful delivery', async () => {
    const tenant = newTenant();
    await subscribe(tenant, 3, 3_600_000, true);
    receiver.respondWith(500);
    const resourceId = newId('res');
    const [first, second] = [1n, 2n].map((sequence) => ({
      ...newEvent(tenant, 'resource.updated', 'thing', resourceId),
      sequence,
    })) as [ReturnType<typeof newEvent>, ReturnType<typeof newEvent>];
    await rms.publish(first, second);
    const [retrying] = await rms.retrying(tenant);
    const [pending] = await rms.list(tenant, { status: DeliveryStatus.PENDING });
    expect([retrying?.eventId, pending?.eventId]).toEqual([first.id, second.id]);
    expect(pending?.nextAttemptTime).toBeUndefined();

    receiver.respondWith(200);
    await redeliver(tenant, pending?.id);
    expect(await ended(tenant, pending?.id)).toMatchObject({
      status: DeliveryStatus.DELIVERED,
      origin: 'redelivery',
      attempts: [{ number: 1 }],
    });
    expect(await rms.list(tenant, { status: DeliveryStatus.RETRYING })).toHaveLength(1);
    await redeliver(tenant, retrying?.id);
    expect(await ended(tenant, retrying?.id)).toMatchObject({
      status: DeliveryStatus.DELIVERED,
      attempts: [
        { number: 1, statusCode: 500 },
        { number: 2, statusCode: 200 },
      ],
    });
    await redeliver(tenant, retrying?.id);
    expect((await ended(tenant, retrying?.id, 3)).attempts).toHaveLength(3);
    expect(receiver.requests.map(({ json }) => json.id)).toEqual([first.id, second.id, first.id, first.id]);
    const bodies = receiver.requests.filter(({ json }) => json.id === first.id).map(({ body }) => body.toString());
    expect(new Set(bodies).size).toBe(1);
  });

  test('of a failed delivery has a full set of retries', async () => {
    const tenant = newTenant();
    await subscribe(tenant, 1, 10);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    const [failed] = await rms.settled(tenant, 1);
    expect(failed).toMatchObject({ status: DeliveryStatus.FAILED, origin: 'event' });
    await redeliver(tenant, failed?.id);
    const again = await ended(tenant, failed?.id, 4);
    expect(again.status).toBe(DeliveryStatus.FAILED);
    expect(again.attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    receiver.respondWith(200);
    await redeliver(tenant, failed?.id);
    expect(await ended(tenant, failed?.id, 5)).toMatchObject({ status: DeliveryStatus.DELIVERED });
  });

  test('sends a skipped delivery after its webhook is enabled', async () => {
    const tenant = newTenant();
    const webhookId = await subscribe(tenant, 0, 10);
    await rms.webhooks.updateWebhook({ ...tenant, id: webhookId, status: WebhookStatus.DISABLED });
    await rms.publish(newEvent(tenant));
    const [skipped] = await rms.list(tenant);
    expect(skipped).toMatchObject({ status: DeliveryStatus.SKIPPED });
    await expect(redeliver(tenant, skipped?.id)).rejects.toMatchObject({ code: 'conflict' });
    await rms.webhooks.updateWebhook({ ...tenant, id: webhookId, status: WebhookStatus.ACTIVE });
    await redeliver(tenant, skipped?.id);
    expect(await ended(tenant, skipped?.id)).toMatchObject({
      status: DeliveryStatus.DELIVERED,
      attempts: [{ number: 1 }],
    });
  });

  test('requested many times during an attempt is made once, after that attempt has failed', async () => {
    const tenant = newTenant();
    await subscribe(tenant, 0, 10);
    const responses: (() => void)[] = [];
    receiver.respondWith(async (_, response) => {
      await new Promise<void>((resolve) => responses.push(resolve));
      response.statusCode = responses.length === 1 ? 500 : 200;
      response.end();
    });
    await rms.publish(newEvent(tenant));
    await waitUntil(() => responses.length === 1, { what: 'the first attempt' });
    const [pending] = await rms.list(tenant);
    for (let round = 0; round < 10; round += 1) await redeliver(tenant, pending?.id);
    expect(responses).toHaveLength(1);
    responses[0]?.();
    await waitUntil(() => responses.length === 2, { what: 'the redelivery' });
    for (let round = 0; round < 10; round += 1) await redeliver(tenant, pending?.id);
    responses[1]?.();
    const { status, origin, attempts } = await ended(tenant, pending?.id, 2);
    expect([status, origin]).toEqual([DeliveryStatus.DELIVERED, 'redelivery']);
    expect(attempts.map(({ statusCode }) => statusCode)).toEqual([500, 200]);
    expect(receiver.requests).toHaveLength(2);
  });

  test('is rejected after 100 redeliveries, also in a replay, regardless of the status', async () => {
    const tenant = newTenant();
    const webhookId = await subscribe(tenant, 0, 10);
    await rms.publish(newEvent(tenant));
    const [delivery] = await rms.settled(tenant, 1);
    await rms.database.pool.query('update webhooks.delivery_log set redeliveries = 99 where id = $1', [delivery?.id]);
    await redeliver(tenant, delivery?.id);
    await ended(tenant, delivery?.id, 2);
    await expect(redeliver(tenant, delivery?.id)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('100 times'),
    });
    const since = timestampFromMs(0);
    const statuses = [DeliveryStatus.DELIVERED];
    expect(
      await rms.deliveries.replayDeliveries({ ...tenant, webhookId, since, statuses, dryRun: true }),
    ).toMatchObject({
      count: 0n,
    });
    expect(receiver.requests).toHaveLength(2);
  });

  test('requested many times concurrently results in one delivery, with every attempt in its log', async () => {
    const tenant = newTenant();
    await subscribe(tenant, 0, 10);
    await rms.publish(newEvent(tenant));
    const [delivery] = await rms.settled(tenant, 1);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(Array.from({ length: 10 }, () => redeliver(tenant, delivery?.id)));
    }
    await waitUntil(
      async () => {
        const [one, ...more] = await rms.settled(tenant, 1);
        return more.length === 0 && one?.attempts.length === receiver.requests.length;
      },
      { what: 'all attempts in the log' },
    );
    expect(receiver.requests.length).toBeGreaterThan(1);
  });
});
