import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, shiftClock, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, retries, startWebhooks } from '../support.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

describe('the clock of an instance', () => {
  let restore = () => {};
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);
  beforeEach(() => receiver.respondWith(200));
  afterEach(() => restore());

  const subscribe = async () => {
    const tenant = newTenant();
    const { id } = await rms.subscribe(tenant, receiver.url, { retryPolicy: retries(5, hourMs) });
    return { tenant, ref: { ...tenant, id } };
  };

  test('that is set back while the delivery loop sleeps does not make it sleep longer', async () => {
    const { tenant } = await subscribe();
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    await rms.retrying(tenant);
    receiver.respondWith(200);
    // The clock is set back many times, so that it is set back during every sleep, whenever the loop is woken.
    let times = 0;
    const setBack = setInterval(() => {
      restore();
      times += 1;
      restore = shiftClock(-times * hourMs);
    }, 20);
    try {
      await waitUntil(() => times > 20, { what: 'the clock to be set back' });
      // Nothing wakes the loop: it must find the retry by itself.
      await rms.database.pool.query('update webhooks.deliveries set due_at = now() where workspace_id = $1', [
        tenant.workspaceId,
      ]);
      const [delivery] = await rms.settled(tenant, 1);
      expect(delivery?.status).toBe(DeliveryStatus.DELIVERED);
    } finally {
      clearInterval(setBack);
    }
  });

  test.each([
    ['20 days behind', -20 * dayMs],
    ['20 days ahead', 20 * dayMs],
  ])('that is %s does not make events dead letters: they are delivered', async (_, byMs) => {
    const { tenant } = await subscribe();
    const event = newEvent(tenant);
    restore = shiftClock(byMs);
    await rms.publish(event);
    const [delivery] = await rms.settled(tenant, 1);
    expect(delivery).toMatchObject({ eventId: event.id, status: DeliveryStatus.DELIVERED });
    expect(await rms.readDeadLetters(tenant.workspaceId)).toEqual([]);
  });

  test('that is wrong neither shortens nor extends the overlap of a rotated secret', async () => {
    const { tenant, ref } = await subscribe();
    restore = shiftClock(-20 * dayMs);
    const { webhook } = await rms.webhooks.rotateSecret({ ...ref, overlap: durationFromMs(hourMs) });
    restore();
    const untilMs = Number(webhook?.previousSecretExpireTime?.seconds ?? 0n) * 1000;
    expect(untilMs).toBeGreaterThan(Date.now());
    const event = newEvent(tenant);
    restore = shiftClock(20 * dayMs);
    await rms.publish(event);
    await rms.settled(tenant, 1);
    const signatures = receiver.requests.at(-1)?.headers['webhook-signature'];
    expect(String(signatures).split(' ')).toHaveLength(2);
  });

  test('that was ahead does not hide later counts in the health of a webhook', async () => {
    const { tenant, ref } = await subscribe();
    await rms.database.pool.query(
      `insert into webhooks.attempt_counts
       select w.workspace_id, w.environment, w.id, 'hour', slot, now() + interval '1 year', 0, 0, 0,
              array_fill(0::bigint, array[20]), array_fill(0::bigint, array[40])
         from webhooks.webhooks as w cross join generate_series(0, 25) as slot where w.id = $1`,
      [ref.id],
    );
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 1);
    const counted = () =>
      rms.database.pool.query(
        "select from webhooks.attempt_counts where webhook_id = $1 and period = 'hour' and starts_at < now() and delivered = 1",
        [ref.id],
      );
    await waitUntil(async () => (await counted()).rowCount === 1, { what: 'the attempt to be counted' });
  });
});
