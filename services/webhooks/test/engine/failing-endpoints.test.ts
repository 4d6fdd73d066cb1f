import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { newEvents, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

describe('failing endpoints', () => {
  const receivers: Receiver[] = [];
  afterAll(async () => {
    // Closing the connections ends the running attempts.
    for (const receiver of receivers) await receiver.close();
  });
  const rms = perSuite(startWebhooks);

  const newReceiver = async () => {
    const receiver = await startReceiver();
    receivers.push(receiver);
    return receiver;
  };
  const subscribe = async (tenant: Tenant, url: string) =>
    (await rms.subscribe(tenant, url, { retryPolicy: retries(5, 10) })).id;
  const eventsOf = (tenant: Tenant, length: number) => newEvents(tenant, length);

  test('are probed with one attempt at a time; waiting deliveries keep their retries, and other endpoints are not delayed', async () => {
    const tenant = newTenant();
    const [failing, healthy] = [await newReceiver(), await newReceiver()];
    const failingId = await subscribe(tenant, failing.url);
    await subscribe(tenant, healthy.url);
    // The concurrency limit of an endpoint, which is more than the ten failures that open the circuit.
    const burst = 32;
    let down = true;
    let inFlight = 0;
    let maxConcurrentProbes = 0;
    failing.respondWith((_, response) => {
      inFlight += 1;
      if (down && failing.requests.length > burst) maxConcurrentProbes = Math.max(maxConcurrentProbes, inFlight);
      setImmediate(() => {
        inFlight -= 1;
        response.writeHead(down ? 503 : 200).end();
      });
    });
    const count = 60;
    await rms.publish(...eventsOf(tenant, count));
    await waitUntil(() => healthy.requests.length === count, { what: 'all requests at the healthy endpoint' });
    await waitUntil(() => failing.requests.length >= burst + 3, { what: 'probes' });
    expect(maxConcurrentProbes).toBe(1);
    const [untried] = await rms.list(tenant, { webhookId: failingId, status: DeliveryStatus.PENDING });
    expect(untried?.attempts).toEqual([]);

    down = false;
    const log = (await rms.settled(tenant, 2 * count)).filter(({ webhookId }) => webhookId === failingId);
    expect(log).toHaveLength(count);
    expect(log.filter(({ status }) => status !== DeliveryStatus.DELIVERED)).toEqual([]);
    const attempts = log.reduce((sum, delivery) => sum + delivery.attempts.length, 0);
    expect(attempts).toBe(failing.requests.length);
    // Each success raised the concurrency limit, up to that of the webhook.
    const limit = 'select concurrency from webhooks.endpoints where webhook_id = $1';
    await waitUntil(async () => (await rms.database.pool.query(limit, [failingId])).rows[0]?.concurrency === null, {
      what: 'the full concurrency of the endpoint',
    });
  });

  test('that hang do not delay the deliveries and retries of another workspace', async () => {
    const [busy, quiet] = [newTenant(), newTenant()];
    const healthy = await newReceiver();
    const hanging: Receiver[] = [];
    for (let i = 0; i < 10; i += 1) {
      const receiver = await newReceiver();
      hanging.push(receiver);
      receiver.respondWith(() => {});
      for (let n = 0; n < 2; n += 1) await subscribe(busy, receiver.url);
    }
    const started = () => hanging.reduce((sum, { requests }) => sum + requests.length, 0);
    await subscribe(quiet, healthy.url);
    await rms.publish(...eventsOf(busy, 50));
    await waitUntil(() => started() >= 400, {
      what: 'nearly all concurrent attempts that a workspace may have',
    });
    expect(started()).toBeLessThanOrEqual(512);
    healthy.respondWith((_, response) => void response.writeHead(healthy.requests.length > 3 ? 200 : 503).end());
    await rms.publish(...eventsOf(quiet, 3));
    const log = await rms.settled(quiet, 3);
    expect(log.map(({ status }) => status)).toEqual(log.map(() => DeliveryStatus.DELIVERED));
    expect(healthy.requests).toHaveLength(6);
  });

  test('of many webhooks that hang leave half of the attempts to the others of their workspace', async () => {
    const tenant = newTenant();
    const [hanging, healthy] = [await newReceiver(), await newReceiver()];
    hanging.respondWith(() => {});
    for (let i = 0; i < 40; i += 1) await subscribe(tenant, hanging.url);
    await rms.publish(...eventsOf(tenant, 20));
    await waitUntil(() => hanging.requests.length >= 512, { what: 'all attempts that a workspace may have' });
    await subscribe(tenant, healthy.url);
    await rms.publish(...eventsOf(tenant, 3));
    // The first attempts end with their timeout. From then on, the endpoints count as failing.
    await waitUntil(() => healthy.requests.length === 3, { what: 'all requests at the healthy endpoint' });
  });
});
