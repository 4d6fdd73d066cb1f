import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from './support.ts';

describe('endpoints that fail', () => {
  let rms: Webhooks;
  const receivers: Receiver[] = [];
  beforeAll(async () => {
    rms = await startWebhooks();
  });
  afterAll(async () => {
    // Attempts under way end with their connections.
    for (const receiver of receivers) await receiver.close();
    await rms?.stop();
  });

  const newReceiver = async () => {
    const receiver = await startReceiver();
    receivers.push(receiver);
    return receiver;
  };
  const subscribe = async (tenant: Tenant, url: string) => {
    const { webhook } = await rms.webhooks.createWebhook({ ...tenant, url, events: ['*'] });
    const retryPolicy = { maxRetries: 5, initialDelay: durationFromMs(10), maxDelay: durationFromMs(10) };
    await rms.webhooks.updateWebhook({ ...tenant, id: webhook?.id ?? '', retryPolicy });
    return webhook?.id ?? '';
  };
  const eventsOf = (tenant: Tenant, length: number) => Array.from({ length }, () => newEvent(tenant));

  test('are probed one attempt at a time; what waits for them loses no retries, and others are not held up', async () => {
    const tenant = newTenant();
    const [failing, healthy] = [await newReceiver(), await newReceiver()];
    const failingId = await subscribe(tenant, failing.url);
    await subscribe(tenant, healthy.url);
    // What one endpoint gets at once: more than the ten failures that it takes.
    const burst = 32;
    let down = true;
    let underWay = 0;
    let mostAtOnceOfProbes = 0;
    failing.respondWith((_, response) => {
      underWay += 1;
      if (down && failing.requests.length > burst) mostAtOnceOfProbes = Math.max(mostAtOnceOfProbes, underWay);
      setImmediate(() => {
        underWay -= 1;
        response.writeHead(down ? 503 : 200).end();
      });
    });
    const count = 60;
    await rms.publish(...eventsOf(tenant, count));
    await waitUntil(() => healthy.requests.length === count, { what: 'all at the healthy endpoint' });
    await waitUntil(() => failing.requests.length >= burst + 3, { what: 'probes' });
    expect(mostAtOnceOfProbes).toBe(1);
    const [untried] = await rms.list(tenant, { webhookId: failingId, status: DeliveryStatus.PENDING });
    expect(untried?.attempts).toEqual([]);

    down = false;
    const log = (await rms.settled(tenant, 2 * count)).filter(({ webhookId }) => webhookId === failingId);
    expect(log).toHaveLength(count);
    expect(log.filter(({ status }) => status !== DeliveryStatus.DELIVERED)).toEqual([]);
    const attempts = log.reduce((sum, delivery) => sum + delivery.attempts.length, 0);
    expect(attempts).toBe(failing.requests.length);
  });

  test('and hang, however many of one workspace, do not stop the deliveries and retries of another', async () => {
    const [busy, quiet] = [newTenant(), newTenant()];
    const [hanging, healthy] = [await newReceiver(), await newReceiver()];
    hanging.respondWith(() => {});
    for (let i = 0; i < 20; i += 1) await subscribe(busy, hanging.url);
    await subscribe(quiet, healthy.url);
    await rms.publish(...eventsOf(busy, 50));
    await waitUntil(() => hanging.requests.length >= 400, { what: 'nearly all that a workspace may have under way' });
    expect(hanging.requests.length).toBeLessThan(512);
    healthy.respondWith((_, response) => void response.writeHead(healthy.requests.length > 3 ? 200 : 503).end());
    await rms.publish(...eventsOf(quiet, 3));
    const log = await rms.settled(quiet, 3);
    expect(log.map(({ status }) => status)).toEqual(log.map(() => DeliveryStatus.DELIVERED));
    expect(healthy.requests).toHaveLength(6);
  });
});
