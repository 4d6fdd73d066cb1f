import { newId } from '@rms/base/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, startReceiver } from '@rms/testkit';
import { newEvents, newTenant, startWebhooks, type Tenant } from '../support.ts';

describe('following deliveries', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);

  const subscribe = (tenant: Tenant) => rms.subscribe(tenant, receiver.url);
  const poll = (tenant: Tenant, after?: bigint, knownIds: string[] = []) =>
    rms.deliveries.tailDeliveries({ ...tenant, knownIds, ...(after === undefined ? {} : { after }) });
  const publishEvents = async (tenant: Tenant, count: number) => {
    const events = newEvents(tenant, count);
    await rms.publish(...events);
    return events.map(({ id }) => id);
  };

  test('returns each delivery once, in feed order, and the current state of known deliveries', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const first = await poll(tenant);
    expect(first).toMatchObject({ position: 0n, deliveries: [], completeAfter: 0n });
    const one = await publishEvents(tenant, 3);
    const second = await poll(tenant, first.position);
    const two = await publishEvents(tenant, 2);
    const third = await poll(tenant, second.position);
    const eventsOf = (found: typeof first) => found.deliveries.map(({ delivery }) => delivery?.eventId);
    expect([eventsOf(second), eventsOf(third)]).toEqual([one, two]);
    expect(third.deliveries.map(({ position }) => position)).toEqual([4n, 5n]);
    expect((await poll(tenant, third.position)).deliveries).toEqual([]);

    const all = await rms.settled(tenant, 5);
    const { known } = await poll(tenant, third.position, [...all.map(({ id }) => id), newId('dlv')]);
    expect(known).toHaveLength(5);
    expect(known[0]).toMatchObject({
      delivery: { status: DeliveryStatus.DELIVERED, attempts: [] },
      attemptCount: 1,
      lastAttempt: { statusCode: 200, requestHeaders: [], responseBody: new Uint8Array() },
    });
  });

  test('a page is bounded and reports the position from which it is complete', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const events = await publishEvents(tenant, 120);
    const late = await poll(tenant, 5n);
    expect(late).toMatchObject({ position: 120n, completeAfter: 20n });
    expect(late.deliveries.map(({ delivery }) => delivery?.eventId)).toEqual(events.slice(20));
    expect((await poll(tenant, 30n)).completeAfter).toBe(30n);
    // Each of the 100 events has ten deliveries.
    for (let i = 0; i < 9; i += 1) await subscribe(tenant);
    await publishEvents(tenant, 100);
    const wide = await poll(tenant, 120n);
    expect(wide.deliveries).toHaveLength(500);
    expect(wide.completeAfter).toBe(wide.deliveries[0]?.position);
    expect(wide.completeAfter).toBeGreaterThan(120n);
  });

  test('does not return deliveries of another workspace or environment, even by ID', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await publishEvents(tenant, 1);
    const { deliveries } = await poll(tenant, 0n);
    const id = deliveries[0]?.delivery?.id ?? '';
    expect(id).not.toBe('');
    for (const other of [newTenant(), { ...tenant, environment: Environment.SANDBOX }]) {
      expect(await poll(other, 0n, [id])).toMatchObject({ position: 0n, deliveries: [], known: [] });
    }
  });

  test('accepts at most 200 IDs', async () => {
    const ids = Array.from({ length: 201 }, () => newId('dlv'));
    await expect(poll(newTenant(), 0n, ids)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
