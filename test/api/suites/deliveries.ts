import { disposable, freePort, startReceiver, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { Target } from '../support/shape.ts';
import { deliveriesOf, retryFast, type Subscriber, subscribe, waitForDelivery } from '../support/subscriber.ts';
import { webhookScene } from '../support/webhook-scene.ts';

export function deliveriesSuite(target: () => Target): void {
  describe('Deliveries', () => {
    const scene = webhookScene(target);
    const { subscribed, emit } = scene;

    test('a 200 response counts as delivered after one attempt', async () => {
      const { webhook } = await subscribed(3);
      await emit();
      const delivery = await waitForDelivery(scene.account, webhook.id, 'delivered');
      expect(delivery).toMatchObject({
        id: expect.stringMatching(/^dlv_/),
        event_id: expect.stringMatching(/^evt_/),
        event_type: 'resource.created',
        webhook_id: webhook.id,
      });
      expect(delivery.attempts).toHaveLength(1);
      expect(delivery.attempts[0]).toMatchObject({ response: { status: 200 }, duration_ms: expect.any(Number) });
    });

    test('only 200 is success: every other status counts as failed, and a redirect is not followed', async () => {
      const statuses = [201, 202, 204, 301, 302, 307, 400, 404, 500, 503];
      const subscribers = new Map<string, { subscriber: Subscriber; status: number }>();
      scene.receiver.respondWith(({ path }, response) => {
        const status = subscribers.get(path)?.status ?? 200;
        response.writeHead(status, { location: '/elsewhere' }).end();
      });
      await Promise.all(
        statuses.map(async (status) => {
          const subscriber = await subscribe(scene.client, scene.receiver, ['resource.created']);
          await retryFast(scene.account, subscriber.webhook.id, 1);
          subscribers.set(subscriber.path, { subscriber, status });
        }),
      );
      await emit();
      for (const { subscriber, status } of subscribers.values()) {
        const { attempts } = await waitForDelivery(scene.account, subscriber.webhook.id, 'failed', 2);
        expect(attempts.map((attempt) => attempt.response?.status)).toEqual([status, status]);
        expectStatus(await scene.client.delete(`/v1/webhooks/${subscriber.webhook.id}`), 204);
      }
      expect(scene.receiver.requests.some(({ path }) => path === '/elsewhere')).toBe(false);
    });

    test('a failed delivery is retried as often as the retry policy allows, with the same bytes', async () => {
      scene.receiver.respondWith(500);
      const subscriber = await subscribed(3);
      await emit();
      const delivery = await waitForDelivery(scene.account, subscriber.webhook.id, 'failed', 4);
      expect(delivery.attempts.map((attempt) => attempt.response?.status)).toEqual([500, 500, 500, 500]);
      expect(new Set(subscriber.received().map(({ raw }) => raw.toString('hex'))).size).toBe(1);
      expect(subscriber.received()).toHaveLength(4);
    });

    test('the default is 5 retries', async () => {
      const { webhook } = await subscribed();
      const listed = await scene.account.rms<{ data: { id: string; retry_policy: { max_retries: number } }[] }>(
        ...['webhooks', 'list'],
      );
      const mine = listed.data.find(({ id }) => id === webhook.id);
      expect(mine?.retry_policy.max_retries).toBe(5);
      scene.receiver.respondWith(500);
      await retryFast(scene.account, webhook.id, 5);
      await emit();
      expect((await waitForDelivery(scene.account, webhook.id, 'failed', 6)).attempts).toHaveLength(6);
    });

    test('a receiver that recovers gets the event with the next retry', async () => {
      let calls = 0;
      scene.receiver.respondWith((_, response) => void response.writeHead(++calls < 3 ? 503 : 200).end());
      const { webhook } = await subscribed(5);
      await emit();
      const delivery = await waitForDelivery(scene.account, webhook.id, 'delivered', 3);
      expect(delivery.attempts.map((attempt) => attempt.response?.status)).toEqual([503, 503, 200]);
    });

    test('an attempt at an unreachable receiver counts as failed', async () => {
      const unreachable = `http://127.0.0.1:${await freePort()}/`;
      const { webhook } = await subscribed(1);
      expectStatus(await scene.client.patch(`/v1/webhooks/${webhook.id}`, { url: unreachable }), 200);
      await emit();
      const delivery = await waitForDelivery(scene.account, webhook.id, 'failed', 2);
      for (const attempt of delivery.attempts) {
        expect(attempt.response).toBeNull();
        expect(attempt.error).toMatch(/\w/);
      }
    });

    test('an attempt without a response within 10 seconds counts as failed', async () => {
      scene.receiver.respondWith(() => {});
      const { webhook } = await subscribed(0);
      await emit();
      const delivery = await waitForDelivery(scene.account, webhook.id, 'failed');
      expect(delivery.attempts).toHaveLength(1);
      expect(delivery.attempts[0]).toMatchObject({ response: null, error: expect.stringMatching(/timeout|10 s/i) });
      // Checks the limit itself: no timeout before ten seconds.
      expect(delivery.attempts[0]?.duration_ms).toBeGreaterThanOrEqual(9_900);
    });

    test('a hanging receiver does not delay another webhook', async () => {
      await using other = disposable(await startReceiver({ path: '' }));
      scene.receiver.respondWith(() => {});
      const { webhook } = await subscribed(0);
      const healthy = await subscribe(scene.client, other, ['resource.created']);
      const created = await Promise.all(Array.from({ length: 50 }, emit));
      await healthy.waitFor(created.length);
      const log = await deliveriesOf(scene.account, webhook.id);
      expect(log.every(({ status }) => status === 'pending')).toBe(true);
      expectStatus(await scene.client.delete(`/v1/webhooks/${healthy.webhook.id}`), 204);
    });

    test('a failed delivery can be re-delivered from the delivery log', async () => {
      scene.receiver.respondWith(500);
      const subscriber = await subscribed(0);
      await emit();
      const failed = await waitForDelivery(scene.account, subscriber.webhook.id, 'failed');
      scene.receiver.respondWith(200);
      await scene.account.rms('deliveries', 'redeliver', failed.id);
      const delivered = await waitForDelivery(scene.account, subscriber.webhook.id, 'delivered', 2);
      expect(delivered).toMatchObject({ id: failed.id, event_id: failed.event_id });
      expect(delivered.attempts.map((attempt) => attempt.response?.status)).toEqual([500, 200]);
      const [first, second] = subscriber.received();
      expect(second?.raw.equals(first?.raw ?? Buffer.alloc(0))).toBe(true);
    });

    test('all failed deliveries of a webhook can be replayed, and a dry run only counts them', async () => {
      scene.receiver.respondWith(500);
      const { webhook } = await subscribed(0);
      const since = new Date(Date.now() - 60_000).toISOString();
      await Promise.all([emit(), emit(), emit()]);
      await waitUntil(
        async () =>
          (await deliveriesOf(scene.account, webhook.id)).filter(({ status }) => status === 'failed').length === 3,
        { what: 'three failed deliveries' },
      );
      scene.receiver.respondWith(200);
      const options = ['deliveries', 'replay', '--webhook', webhook.id, '--since', since];
      expect(await scene.account.rms(...options, '--dry-run')).toMatchObject({ matching: 3 });
      expect(scene.receiver.requests).toHaveLength(3);
      expect(await scene.account.rms(...options)).toMatchObject({ matching: 3 });
      await waitUntil(
        async () => (await deliveriesOf(scene.account, webhook.id)).every(({ status }) => status === 'delivered'),
        { what: 'the delivery of all three' },
      );
    });

    test('the delivery log can be filtered by status', async () => {
      scene.receiver.respondWith(500);
      const { webhook } = await subscribed(0);
      await emit();
      const failed = await waitForDelivery(scene.account, webhook.id, 'failed');
      const ids = async (status: string) =>
        (
          await scene.account.rms<{ data: { id: string }[] }>(
            ...['deliveries', 'list', '--webhook', webhook.id, '--status', status],
          )
        ).data.map(({ id }) => id);
      expect(await ids('failed')).toEqual([failed.id]);
      expect(await ids('delivered')).toEqual([]);
      expect(await ids('pending')).toEqual([]);
    });
  });
}
