import { timestampMs } from '@bufbuild/protobuf/wkt';
import { DelayReason, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, startReceiver, testDatabase, waitUntil } from '@rms/testkit';
import { saveEndpoints } from '../../src/engine/lease/schedule-queries.ts';
import { migrations } from '../../src/migrations.ts';
import { readHealth } from '../../src/rpc/batch-get-webhook-health.ts';
import { stepsOn } from '../leases.ts';
import { newEvent, newTenant, startWebhooks } from '../support.ts';

const hourMs = 3_600_000;
const minuteMs = 60_000;

describe('a due delivery that waits for the rate limit', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);

  /** Subscribes with a rate limit that allows one of two events, and waits until it is delivered. */
  const deliverOne = async () => {
    const tenant = newTenant();
    const rateLimit = { requestsPerSecond: 0.01 };
    const { id: webhookId } = await rms.subscribe(tenant, receiver.url, { rateLimit });
    await rms.publish(newEvent(tenant), newEvent(tenant));
    const [delivered] = await waitUntil(
      async () => {
        const ended = await rms.list(tenant, { status: DeliveryStatus.DELIVERED });
        return ended.length === 1 && ended;
      },
      { what: 'the attempt that the limit allows' },
    );
    return { tenant, webhookId, delivered };
  };

  test('says so, with the time of the next attempt, in every response and in the health of the webhook', async () => {
    const { tenant, webhookId, delivered } = await deliverOne();
    expect(delivered?.delayReason).toBe(DelayReason.UNSPECIFIED);
    const [waiting] = await rms.list(tenant, { status: DeliveryStatus.PENDING });
    const { id = '', nextAttemptTime, delayReason, lastAttempt } = waiting ?? {};
    expect([delayReason, lastAttempt]).toEqual([DelayReason.RATE_LIMIT, undefined]);
    expect(nextAttemptTime && timestampMs(nextAttemptTime)).toBeGreaterThan(Date.now() + minuteMs);
    const delayed = { nextAttemptTime, delayReason };

    expect((await rms.deliveries.getDelivery({ ...tenant, id })).delivery).toMatchObject(delayed);
    const { eventId } = waiting ?? {};
    expect(await rms.list(tenant, { eventId })).toMatchObject([delayed]);
    const { deliveries, known } = await rms.deliveries.tailDeliveries({
      ...tenant,
      after: 0n,
      knownIds: [id, delivered?.id ?? ''],
    });
    const reasons = (tailed: typeof known) =>
      new Map(tailed.map(({ delivery }) => [delivery?.id, [delivery?.delayReason, delivery?.nextAttemptTime]]));
    const expected = new Map([
      [id, [delayReason, nextAttemptTime]],
      [delivered?.id, [DelayReason.UNSPECIFIED, undefined]],
    ]);
    expect([reasons(deliveries), reasons(known)]).toEqual([expected, expected]);
    for (const sent of [id, delivered?.id ?? '']) {
      const { delivery } = await rms.deliveries.redeliverDelivery({ ...tenant, id: sent });
      expect(delivery).toMatchObject({ id: sent, ...delayed });
    }
    const { healths } = await rms.webhooks.batchGetWebhookHealth({ ...tenant, ids: [webhookId] });
    expect(healths).toMatchObject([{ ...delayed, unfinished: 2 }]);
    expect(healths[0]?.openCircuit).toBeUndefined();
  });

  test('has no delay reason when the limit is removed and the delivery has ended', async () => {
    const { tenant, webhookId: id } = await deliverOne();
    await rms.webhooks.updateWebhook({ ...tenant, id, rateLimit: { requestsPerSecond: 0 } });
    const ended = await rms.settled(tenant, 2);
    expect(ended.map(({ delayReason }) => delayReason)).toEqual([DelayReason.UNSPECIFIED, DelayReason.UNSPECIFIED]);
    const { healths } = await rms.webhooks.batchGetWebhookHealth({ ...tenant, ids: [id] });
    expect(healths).toMatchObject([{ delayReason: DelayReason.UNSPECIFIED }]);
    expect(healths[0]?.nextAttemptTime).toBeUndefined();
  });
});

describe('a queued delivery', () => {
  const database = perSuite(() => testDatabase([migrations]));
  const steps = perSuite(() => stepsOn(database.pool));

  /** Queues a delivery that is due, or leased if `leased` is 1. */
  const queued = async (leased = 0) => {
    const tenant = newTenant();
    const id = await steps.subscribe(tenant);
    await steps.store([newEvent(tenant)], leased);
    return { tenant, id };
  };
  type Queued = Awaited<ReturnType<typeof queued>>;
  /** Opens the circuit, or pauses a webhook with a closed circuit as the rate limit does, for an hour. */
  const pause = async ({ id }: Queued, circuit: 'open' | 'closed') => {
    await saveEndpoints(database.pool, [{ webhookId: id, pauseMs: hourMs, concurrency: 1, pauses: true }], 0);
    if (circuit === 'open') return;
    await database.pool.query(
      'update webhooks.endpoints set pause_ms = 0, open_since = null, rate_at = not_before where webhook_id = $1',
      [id],
    );
  };
  const setDue = ({ id }: Queued, due: string) =>
    database.pool.query(`update webhooks.deliveries set due_at = ${due} where webhook_id = $1`, [id]);
  /** Returns the reason and the whole minutes until the next attempt, of the delivery and of its webhook. */
  const delayOf = async ({ tenant, id }: Queued) => {
    const [delivery] = await steps.logged(tenant);
    const [health] = await readHealth(database.pool, steps.scopeOf(tenant), [id], Date.now());
    return [delivery, health].map((of) => [
      of?.delayReason,
      of?.nextAttemptAt ? Math.max(0, Math.round((of.nextAttemptAt.getTime() - Date.now()) / minuteMs)) : null,
    ]);
  };

  test.each([
    ['open', 'circuit_open'],
    ['closed', 'rate_limit'],
  ] as const)(
    'that is due while the circuit is %s has the reason %s until the next attempt',
    async (circuit, reason) => {
      const delivery = await queued();
      await pause(delivery, circuit);
      expect(await delayOf(delivery)).toEqual([
        [reason, 60],
        [reason, 60],
      ]);
      await database.pool.query('update webhooks.endpoints set not_before = now() where webhook_id = $1', [
        delivery.id,
      ]);
      expect(await delayOf(delivery)).toEqual([
        [null, 0],
        [null, 0],
      ]);
    },
  );

  test.each(['open', 'closed'] as const)(
    'that is in flight, retried later or behind another one has no reason while the circuit is %s',
    async (circuit) => {
      const leased = await queued(1);
      const later = await queued();
      const behind = await queued();
      await setDue(later, "now() + interval '2 hours'");
      await setDue(behind, 'null');
      for (const delivery of [leased, later, behind]) await pause(delivery, circuit);
      expect(await delayOf(leased)).toEqual([
        [null, 0],
        [null, 60],
      ]);
      expect(await delayOf(later)).toEqual([
        [null, 120],
        [null, 120],
      ]);
      expect(await delayOf(behind)).toEqual([
        [null, null],
        [null, null],
      ]);
    },
  );

  test('that is due has no reason without a pause', async () => {
    expect(await delayOf(await queued())).toEqual([
      [null, 0],
      [null, 0],
    ]);
  });
});
