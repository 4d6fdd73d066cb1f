import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newEvents, startWebhooks } from '../support.ts';

describe('a repeated event', () => {
  const rms = perSuite(startWebhooks);
  const second = perSuite(() => startWebhooks({}, { given: rms.database }));
  const receiver = perTest(startReceiver);

  const subscribed = () => rms.newSubscriber(receiver.url);

  test('at two instances concurrently results in one delivery and one feed position', async () => {
    const tenant = await subscribed();
    const events = newEvents(tenant, 50);
    const reversed = [...events].reverse();
    await Promise.all([
      ...[0, 10, 20, 30, 40].map((at) => rms.publish(...events.slice(at, at + 20))),
      ...[0, 10, 20, 30, 40].map((at) => second.publish(...reversed.slice(at, at + 20))),
      rms.publish(...reversed),
      second.publish(...events, ...events),
    ]);
    const log = await rms.settled(tenant, events.length);
    expect(log.map(({ eventId }) => eventId).sort()).toEqual(events.map(({ id }) => id).sort());
    expect(log.every(({ status, attempts }) => status === DeliveryStatus.DELIVERED && attempts.length === 1)).toBe(
      true,
    );
    expect(receiver.requests).toHaveLength(events.length);
    expect((await rms.feed.listEvents({ ...tenant, pageSize: 1 })).newestPosition).toBe(50n);
  });

  test('is not delivered again after it was delivered, failed or skipped', async () => {
    const tenant = await subscribed();
    receiver.respondWith(
      ({ json }, response) => void response.writeHead(json.data.object.name === 'bad' ? 410 : 200).end(),
    );
    const [delivered, failed, skipped] = [
      newEvent(tenant),
      newEvent(tenant, 'resource.created', 'bad'),
      newEvent(tenant),
    ];
    await rms.publish(delivered);
    await rms.settled(tenant, 1);
    await rms.publish(failed);
    await rms.settled(tenant, 2);
    await waitUntil(
      async () => {
        const { webhooks } = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 1 });
        return webhooks[0]?.status === WebhookStatus.DISABLED;
      },
      { what: 'the webhook to be disabled' },
    );
    await rms.publish(skipped);
    await rms.settled(tenant, 3);
    await second.publish(skipped, failed, delivered);
    await rms.publish(delivered, failed, skipped);
    const log = await rms.list(tenant);
    expect(log).toHaveLength(3);
    expect(Object.fromEntries(log.map(({ eventId, status }) => [eventId, status]))).toEqual({
      [skipped.id]: DeliveryStatus.SKIPPED,
      [failed.id]: DeliveryStatus.FAILED,
      [delivered.id]: DeliveryStatus.DELIVERED,
    });
    expect(receiver.requests).toHaveLength(2);
  });
});
