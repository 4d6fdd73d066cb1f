import { newId } from '@rms/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from './support.ts';

describe('following deliveries', () => {
  let rms: Webhooks;
  let receiver: Receiver;
  beforeAll(async () => {
    rms = await startWebhooks();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await receiver?.close();
    await rms?.stop();
  });

  const subscribe = (tenant: Tenant) => rms.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
  const look = (tenant: Tenant, after?: bigint, knownIds: string[] = []) =>
    rms.deliveries.tailDeliveries({ ...tenant, knownIds, ...(after === undefined ? {} : { after }) });
  const happen = async (tenant: Tenant, count: number) => {
    const events = Array.from({ length: count }, () => newEvent(tenant));
    await rms.publish(...events);
    return events.map(({ id }) => id);
  };

  test('each delivery comes once, in the order of the feed, and how known ones fare by then', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const first = await look(tenant);
    expect(first).toMatchObject({ position: 0n, deliveries: [], completeAfter: 0n });
    const one = await happen(tenant, 3);
    const second = await look(tenant, first.position);
    const two = await happen(tenant, 2);
    const third = await look(tenant, second.position);
    const eventsOf = (found: typeof first) => found.deliveries.map(({ delivery }) => delivery?.eventId);
    expect([eventsOf(second), eventsOf(third)]).toEqual([one, two]);
    expect(third.deliveries.map(({ position }) => position)).toEqual([4n, 5n]);
    expect((await look(tenant, third.position)).deliveries).toEqual([]);

    const all = await rms.settled(tenant, 5);
    const { known } = await look(tenant, third.position, [...all.map(({ id }) => id), newId('dlv')]);
    expect(known).toHaveLength(5);
    expect(known[0]).toMatchObject({
      delivery: { status: DeliveryStatus.DELIVERED, attempts: [] },
      attemptCount: 1,
      lastAttempt: { statusCode: 200, requestHeaders: [], responseBody: new Uint8Array() },
    });
  });

  test('a look is bounded, and says from where on it is complete', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const events = await happen(tenant, 120);
    const late = await look(tenant, 5n);
    expect(late).toMatchObject({ position: 120n, completeAfter: 20n });
    expect(late.deliveries.map(({ delivery }) => delivery?.eventId)).toEqual(events.slice(20));
    expect((await look(tenant, 30n)).completeAfter).toBe(30n);
    // Each of 100 events has ten more deliveries.
    for (let i = 0; i < 9; i += 1) await subscribe(tenant);
    await happen(tenant, 100);
    const wide = await look(tenant, 120n);
    expect(wide.deliveries).toHaveLength(500);
    expect(wide.completeAfter).toBe(wide.deliveries[0]?.position);
    expect(wide.completeAfter).toBeGreaterThan(120n);
  });

  test("another workspace's or environment's is not there, whoever knows its ids", async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await happen(tenant, 1);
    const { deliveries } = await look(tenant, 0n);
    const id = deliveries[0]?.delivery?.id ?? '';
    expect(id).not.toBe('');
    for (const other of [newTenant(), { ...tenant, environment: Environment.SANDBOX }]) {
      expect(await look(other, 0n, [id])).toMatchObject({ position: 0n, deliveries: [], known: [] });
    }
  });

  test('no more than 200 are asked for by their ids', async () => {
    const ids = Array.from({ length: 201 }, () => newId('dlv'));
    await expect(look(newTenant(), 0n, ids)).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
