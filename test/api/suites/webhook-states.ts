import { createHmac } from 'node:crypto';
import { waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { One, Page } from '../support/api-types.ts';
import type { Target } from '../support/shape.ts';
import { retryFast, subscribe, waitForDelivery } from '../support/subscriber.ts';
import { webhookScene } from '../support/webhook-scene.ts';

export function webhookStatesSuite(target: () => Target): void {
  describe('States of webhooks', () => {
    const scene = webhookScene(target);
    const { subscribed, emit } = scene;

    test('a disabled webhook receives no events until it is active again', async () => {
      const subscriber = await subscribed(0);
      const path = `/v1/webhooks/${subscriber.webhook.id}`;
      const witness = await subscribe(scene.client, scene.receiver, ['resource.created']);
      expectStatus(await scene.client.patch(path, { status: 'disabled' }), 200);
      const missed = await emit();
      await witness.waitForEventsOf(missed.id, 1);
      expectStatus(await scene.client.patch(path, { status: 'active' }), 200);
      const seen = await emit();
      const events = await subscriber.waitForEventsOf(seen.id, 1);
      expect(events).toHaveLength(1);
      expect(subscriber.received().map(({ envelope }) => envelope.data.object.id)).toEqual([seen.id]);
      expectStatus(await scene.client.delete(`/v1/webhooks/${witness.webhook.id}`), 204);
    });

    test('disabling a webhook ends its pending deliveries with the reason webhook_disabled', async () => {
      const { webhook } = await subscribed();
      const path = `/v1/webhooks/${webhook.id}`;
      expectStatus(await scene.client.post(`${path}/pause`, {}), 200);
      await emit();
      const log = async () =>
        (await scene.client.get<Page<object>>(`/v1/deliveries?webhook_id=${webhook.id}`)).body.data;
      await waitUntil(async () => (await log()).length === 1, { what: 'the pending delivery' });
      expectStatus(await scene.client.patch(path, { status: 'disabled' }), 200);
      expect(await log()).toMatchObject([{ status: 'failed', attempt_count: 0, end_reason: 'webhook_disabled' }]);
    });

    test('a deleted webhook receives no more events and no more retries', async () => {
      scene.receiver.respondWith(
        ({ path }, response) => void response.writeHead(path === subscriber.path ? 500 : 200).end(),
      );
      const subscriber = await subscribe(scene.client, scene.receiver, ['resource.created']);
      await retryFast(scene.account, subscriber.webhook.id, 50);
      await emit();
      await subscriber.waitFor(2);
      expectStatus(await scene.client.delete(`/v1/webhooks/${subscriber.webhook.id}`), 204);
      const witness = await subscribed(0);
      const after = await emit();
      await witness.waitForEventsOf(after.id, 1);
      const count = subscriber.received().length;
      const last = await emit();
      await witness.waitForEventsOf(last.id, 1);
      // One attempt may have been in flight when the webhook was deleted.
      expect(subscriber.received().length).toBeLessThanOrEqual(count + 1);
      expect(subscriber.received().some(({ envelope }) => envelope.data.object.id === after.id)).toBe(false);
    });

    test('a 410 response disables the webhook', async () => {
      scene.receiver.respondWith(410);
      const { webhook } = await subscribed(5);
      await emit();
      const delivery = await waitForDelivery(scene.account, webhook.id, 'failed');
      expect(delivery.attempts).toHaveLength(1);
      await waitUntil(
        async () =>
          (await scene.client.get<One<{ status: string }>>(`/v1/webhooks/${webhook.id}`)).body.data.status ===
          'disabled',
        { what: 'the webhook to be disabled' },
      );
    });

    test('deliveries after a secret rotation are signed with the new secret', async () => {
      const subscriber = await subscribed(0);
      const rotated = await scene.account.rms<{ secret: string }>('webhooks', 'rotate-secret', subscriber.webhook.id);
      expect(rotated.secret).toMatch(/^whsec_/);
      expect(rotated.secret).not.toBe(subscriber.secret);
      await emit();
      const [event] = await subscriber.waitFor(1);
      const expected = createHmac('sha256', rotated.secret)
        .update(event?.raw ?? '')
        .digest('hex');
      expect(event?.headers['x-service-signature']).toBe(expected);
    });

    test('a webhook can be disabled, enabled and tested from the command line', async () => {
      const subscriber = await subscribed(0);
      const status = async () =>
        (await scene.client.get<One<{ status: string }>>(`/v1/webhooks/${subscriber.webhook.id}`)).body.data.status;
      await scene.account.rms('webhooks', 'disable', subscriber.webhook.id);
      expect(await status()).toBe('disabled');
      await scene.account.rms('webhooks', 'enable', subscriber.webhook.id);
      expect(await status()).toBe('active');
      await scene.account.rms('webhooks', 'test', subscriber.webhook.id);
      const [event] = await subscriber.waitFor(1);
      const expected = createHmac('sha256', subscriber.secret)
        .update(event?.raw ?? '')
        .digest('hex');
      expect(event?.headers['x-service-signature']).toBe(expected);
    });
  });
}
