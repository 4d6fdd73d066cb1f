import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perTest, startReceiver, waitUntil } from '@rms/testkit';
import { laneOf, newTenant, retries, startWebhooks, type Tenant, type Webhooks } from '../support.ts';

const retrySoon = retries(2, 20);
const retryLate = retries(2, 3_600_000);

describe.each([1, 2])('an ordered webhook, with %i instances', (count) => {
  const instances: Webhooks[] = [];
  const [first, last] = [() => instances[0] as Webhooks, () => instances.at(-1) as Webhooks];
  beforeAll(async () => {
    instances.push(await startWebhooks());
    for (let i = 1; i < count; i += 1) instances.push(await startWebhooks({}, { given: first().database }));
  });
  afterAll(async () => {
    for (const instance of instances.reverse()) await instance.stop();
  });
  const receiver = perTest(startReceiver);

  const subscribe = async (tenant: Tenant, retryPolicy = retrySoon) =>
    (await first().subscribe(tenant, receiver.url, { ordered: true, retryPolicy })).id;
  /** Makes events of the same resource, in sequence. Their names contain the resource's letter and the number. */
  const eventsOf = (tenant: Tenant, name: string, length: number) =>
    laneOf(tenant, length, { nameOf: (i) => `${name}${i + 1}` });
  const nameOf = (json: { data: { object: { name: string } } }) => json.data.object.name;
  const received = (name: string) => receiver.requests.map(({ json }) => nameOf(json)).filter((one) => one[0] === name);

  test('gets one delivery per resource at a time, in sequence, and several resources concurrently', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const inFlight = new Map<string, number>();
    let maxPerResource = 0;
    // No response is sent before two deliveries are in flight.
    const concurrent = Promise.withResolvers<void>();
    receiver.respondWith(({ json }, response) => {
      const resource = nameOf(json)[0] ?? '';
      inFlight.set(resource, (inFlight.get(resource) ?? 0) + 1);
      maxPerResource = Math.max(maxPerResource, inFlight.get(resource) ?? 0);
      if ([...inFlight.values()].reduce((sum, one) => sum + one) > 1) concurrent.resolve();
      void concurrent.promise.then(() =>
        setImmediate(() => {
          inFlight.set(resource, (inFlight.get(resource) ?? 0) - 1);
          response.end();
        }),
      );
    });
    const lanes = ['a', 'b', 'c', 'd'].map((name) => eventsOf(tenant, name, 6));
    for (let i = 0; i < 6; i += 2) {
      await Promise.all([
        first().publish(...lanes.slice(0, 2).flatMap((lane) => lane.slice(i, i + 2))),
        last().publish(...lanes.slice(2).flatMap((lane) => lane.slice(i, i + 2))),
      ]);
    }
    await first().settled(tenant, 24);
    for (const name of ['a', 'b', 'c', 'd'])
      expect(received(name)).toEqual([1, 2, 3, 4, 5, 6].map((i) => `${name}${i}`));
    expect(maxPerResource).toBe(1);
  });

  test('a hanging delivery delays only its resource', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    let respond = () => {};
    receiver.respondWith(({ json }, response) => {
      if (nameOf(json) !== 'h1') return void response.end();
      respond = () => void response.end();
    });
    await first().publish(...eventsOf(tenant, 'h', 3));
    await last().publish(...eventsOf(tenant, 'o', 3));
    await waitUntil(() => received('o').length === 3 && received('h').length === 1, { what: 'the other lane' });
    const waiting = await waitUntil(
      async () => {
        const pending = await first().list(tenant, { status: DeliveryStatus.PENDING });
        return pending.length === 3 && pending.filter(({ nextAttemptTime }) => nextAttemptTime === undefined);
      },
      { what: 'the other lane to end' },
    );
    expect(waiting).toHaveLength(2);
    respond();
    await first().settled(tenant, 6);
    expect(received('h')).toEqual(['h1', 'h2', 'h3']);
  });

  test('a failing event blocks its lane until it has failed permanently; then the lane continues', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    receiver.respondWith(({ json }, response) => void response.writeHead(nameOf(json) === 'f1' ? 400 : 200).end());
    await first().publish(...eventsOf(tenant, 'f', 3), ...eventsOf(tenant, 'g', 2));
    const log = await first().settled(tenant, 5);
    expect(received('f')).toEqual(['f1', 'f1', 'f1', 'f2', 'f3']);
    expect(received('g')).toEqual(['g1', 'g2']);
    expect(log.filter(({ status }) => status === DeliveryStatus.FAILED)).toHaveLength(1);
  });

  test('a lane is blocked while its first event waits for a retry, and continues when it is redelivered', async () => {
    const tenant = newTenant();
    await subscribe(tenant, retryLate);
    receiver.respondWith(({ json }, response) => void response.writeHead(nameOf(json) === 'w1' ? 500 : 200).end());
    await first().publish(...eventsOf(tenant, 'w', 3));
    await first().retrying(tenant);
    await last().publish(...eventsOf(tenant, 'x', 1));
    await waitUntil(() => received('x').length === 1, { what: 'another lane' });
    expect(received('w')).toEqual(['w1']);
    receiver.respondWith(200);
    const [retrying] = await first().list(tenant, { status: DeliveryStatus.RETRYING });
    await last().deliveries.redeliverDelivery({ ...tenant, id: retrying?.id ?? '' });
    await first().settled(tenant, 4);
    expect(received('w').filter((name) => name !== 'w1')).toEqual(['w2', 'w3']);
  });

  test('deliveries that arrive while their predecessors end do not get stuck', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const lanes = ['p', 'q', 'r'].map((name) => eventsOf(tenant, name, 25));
    // Publishes each event as soon as its predecessor is received, while the predecessor's result is being
    // recorded.
    const follow = async (lane: ReturnType<typeof eventsOf>, name: string) => {
      for (const [i, event] of lane.entries()) {
        await waitUntil(() => received(name).length >= i, { what: 'the previous event', everyMs: 1 });
        await (i % 2 === 0 ? first() : last()).publish(event);
      }
    };
    await Promise.all(lanes.map((lane, i) => follow(lane, 'pqr'[i] ?? '')));
    await first().settled(tenant, 75);
    for (const [i, lane] of lanes.entries()) {
      expect(received('pqr'[i] ?? '')).toEqual(lane.map((_, n) => `${'pqr'[i]}${n + 1}`));
    }
  });
});
