import { createHmac } from 'node:crypto';
import { freePort, type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { type ApiClient, expectStatus } from '../support/api-client.ts';
import type { One, Resource } from '../support/api-types.ts';
import { type Account, newAccount, type Target } from '../support/shape.ts';
import { deliveriesOf, retryFast, type Subscriber, subscribe, waitForDelivery } from '../support/subscriber.ts';

export function deliveriesSuite(target: () => Target): void {
  describe('Deliveries', () => {
    let account: Account;
    let client: ApiClient;
    let receiver: Receiver;
    let active: Subscriber | undefined;
    beforeAll(async () => {
      account = await newAccount(target());
      client = await account.client('live', 'admin');
    });
    beforeEach(async () => {
      receiver = await startReceiver({ path: '' });
    });
    afterEach(async () => {
      if (active) await client.delete(`/v1/webhooks/${active.webhook.id}`);
      active = undefined;
      await receiver?.close();
    });

    /** A webhook that is retried fast, at the receiver of this test; it goes away with the test. */
    const subscribed = async (maxRetries: number) => {
      active = await subscribe(client, receiver, ['resource.created']);
      await retryFast(account, active.webhook.id, maxRetries);
      return active;
    };
    const emit = async () =>
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Event' }), 201).body.data;

    test('200 counts as delivered, after one attempt', async () => {
      const { webhook } = await subscribed(3);
      await emit();
      const delivery = await waitForDelivery(account, webhook.id, 'delivered');
      expect(delivery).toMatchObject({
        id: expect.stringMatching(/^dlv_/),
        event_id: expect.stringMatching(/^evt_/),
        event_type: 'resource.created',
        webhook_id: webhook.id,
      });
      expect(delivery.attempts).toHaveLength(1);
      expect(delivery.attempts[0]).toMatchObject({ status_code: 200, duration_ms: expect.any(Number) });
    });

    for (const status of [201, 202, 204, 302, 307, 400, 404, 500, 503]) {
      test(`only 200 is success: ${status} counts as failed`, async () => {
        receiver.respondWith((_, response) => void response.writeHead(status, { location: '/elsewhere' }).end());
        const { webhook, path } = await subscribed(1);
        await emit();
        const delivery = await waitForDelivery(account, webhook.id, 'failed', 2);
        expect(delivery.attempts.map((attempt) => attempt.status_code)).toEqual([status, status]);
        expect(receiver.requests.map((request) => request.path)).toEqual([path, path]);
      });
    }

    test('a failed delivery is retried as often as the retry policy says, with the same bytes', async () => {
      receiver.respondWith(500);
      const subscriber = await subscribed(3);
      await emit();
      const delivery = await waitForDelivery(account, subscriber.webhook.id, 'failed', 4);
      expect(delivery.attempts.map((attempt) => attempt.status_code)).toEqual([500, 500, 500, 500]);
      expect(new Set(subscriber.received().map(({ raw }) => raw.toString('hex'))).size).toBe(1);
      expect(subscriber.received()).toHaveLength(4);
    });

    test('the default is 5 retries', async () => {
      active = await subscribe(client, receiver, ['resource.created']);
      const listed = await account.rms<{ data: { id: string; retry_policy: { max_retries: number } }[] }>(
        ...['webhooks', 'list'],
      );
      const mine = listed.data.find(({ id }) => id === active?.webhook.id);
      expect(mine?.retry_policy.max_retries).toBe(5);
      receiver.respondWith(500);
      await retryFast(account, active.webhook.id, 5);
      await emit();
      expect((await waitForDelivery(account, active.webhook.id, 'failed', 6)).attempts).toHaveLength(6);
    });

    test('a receiver that recovers gets the event with the next retry', async () => {
      let calls = 0;
      receiver.respondWith((_, response) => void response.writeHead(++calls < 3 ? 503 : 200).end());
      const { webhook } = await subscribed(5);
      await emit();
      const delivery = await waitForDelivery(account, webhook.id, 'delivered', 3);
      expect(delivery.attempts.map((attempt) => attempt.status_code)).toEqual([503, 503, 200]);
    });

    test('a receiver that cannot be reached counts as failed', async () => {
      const unreachable = `http://127.0.0.1:${await freePort()}/`;
      const { webhook } = await subscribed(1);
      expectStatus(await client.patch(`/v1/webhooks/${webhook.id}`, { url: unreachable }), 200);
      await emit();
      const delivery = await waitForDelivery(account, webhook.id, 'failed', 2);
      for (const attempt of delivery.attempts) {
        expect(attempt.status_code).toBeNull();
        expect(attempt.error).toMatch(/\w/);
      }
    });

    test('a receiver that does not answer within 10 seconds counts as failed', async () => {
      receiver.respondWith(() => {});
      const { webhook } = await subscribed(0);
      await emit();
      const delivery = await waitForDelivery(account, webhook.id, 'failed');
      expect(delivery.attempts).toHaveLength(1);
      expect(delivery.attempts[0]).toMatchObject({ status_code: null, error: expect.stringMatching(/timeout|10 s/i) });
      // The limit itself: not before ten seconds.
      expect(delivery.attempts[0]?.duration_ms).toBeGreaterThanOrEqual(9_900);
    });

    test('a hanging receiver does not delay another webhook', async () => {
      const other = await startReceiver({ path: '' });
      try {
        receiver.respondWith(() => {});
        await subscribed(0);
        const healthy = await subscribe(client, other, ['resource.created']);
        const made = await Promise.all(Array.from({ length: 50 }, emit));
        await healthy.waitFor(made.length);
        const log = await deliveriesOf(account, active?.webhook.id ?? '');
        expect(log.every(({ status }) => status === 'pending')).toBe(true);
        expectStatus(await client.delete(`/v1/webhooks/${healthy.webhook.id}`), 204);
      } finally {
        await other.close();
      }
    });

    test('a failed delivery can be re-delivered from the delivery log', async () => {
      receiver.respondWith(500);
      const subscriber = await subscribed(0);
      await emit();
      const failed = await waitForDelivery(account, subscriber.webhook.id, 'failed');
      receiver.respondWith(200);
      await account.rms('deliveries', 'redeliver', failed.id);
      const delivered = await waitForDelivery(account, subscriber.webhook.id, 'delivered', 2);
      expect(delivered).toMatchObject({ id: failed.id, event_id: failed.event_id });
      expect(delivered.attempts.map((attempt) => attempt.status_code)).toEqual([500, 200]);
      const [first, second] = subscriber.received();
      expect(second?.raw.equals(first?.raw ?? Buffer.alloc(0))).toBe(true);
    });

    test('all failed deliveries of a webhook can be replayed, and a dry run only counts them', async () => {
      receiver.respondWith(500);
      const { webhook } = await subscribed(0);
      const since = new Date(Date.now() - 60_000).toISOString();
      await Promise.all([emit(), emit(), emit()]);
      await waitUntil(
        async () => (await deliveriesOf(account, webhook.id)).filter(({ status }) => status === 'failed').length === 3,
        { what: 'three failed deliveries' },
      );
      receiver.respondWith(200);
      const options = ['deliveries', 'replay', '--webhook', webhook.id, '--since', since];
      expect(await account.rms(...options, '--dry-run')).toMatchObject({ count: 3 });
      expect(receiver.requests).toHaveLength(3);
      expect(await account.rms(...options)).toMatchObject({ count: 3 });
      await waitUntil(
        async () => (await deliveriesOf(account, webhook.id)).every(({ status }) => status === 'delivered'),
        { what: 'all three to be delivered' },
      );
    });

    test('the delivery log can be filtered by status', async () => {
      receiver.respondWith(500);
      const { webhook } = await subscribed(0);
      await emit();
      const failed = await waitForDelivery(account, webhook.id, 'failed');
      const ids = async (status: string) =>
        (
          await account.rms<{ data: { id: string }[] }>(
            ...['deliveries', 'list', '--webhook', webhook.id, '--status', status],
          )
        ).data.map(({ id }) => id);
      expect(await ids('failed')).toEqual([failed.id]);
      expect(await ids('delivered')).toEqual([]);
      expect(await ids('pending')).toEqual([]);
    });

    test('a disabled webhook gets no events until it is active again', async () => {
      const subscriber = await subscribed(0);
      const path = `/v1/webhooks/${subscriber.webhook.id}`;
      const witness = await subscribe(client, receiver, ['resource.created']);
      expectStatus(await client.patch(path, { status: 'disabled' }), 200);
      const missed = await emit();
      await witness.waitForEventsOf(missed.id, 1);
      expectStatus(await client.patch(path, { status: 'active' }), 200);
      const seen = await emit();
      const events = await subscriber.waitForEventsOf(seen.id, 1);
      expect(events).toHaveLength(1);
      expect(subscriber.received().map(({ envelope }) => envelope.data.object.id)).toEqual([seen.id]);
      expectStatus(await client.delete(`/v1/webhooks/${witness.webhook.id}`), 204);
    });

    test('a deleted webhook gets no more events, and no more retries', async () => {
      receiver.respondWith(({ path }, response) => void response.writeHead(path === subscriber.path ? 500 : 200).end());
      const subscriber = await subscribe(client, receiver, ['resource.created']);
      await retryFast(account, subscriber.webhook.id, 50);
      await emit();
      await subscriber.waitFor(2);
      expectStatus(await client.delete(`/v1/webhooks/${subscriber.webhook.id}`), 204);
      const witness = await subscribed(0);
      const after = await emit();
      await witness.waitForEventsOf(after.id, 1);
      const count = subscriber.received().length;
      const last = await emit();
      await witness.waitForEventsOf(last.id, 1);
      // One attempt may have been on its way while the webhook was deleted.
      expect(subscriber.received().length).toBeLessThanOrEqual(count + 1);
      expect(subscriber.received().some(({ envelope }) => envelope.data.object.id === after.id)).toBe(false);
    });

    test('a receiver that answers 410 disables its webhook', async () => {
      receiver.respondWith(410);
      const { webhook } = await subscribed(5);
      await emit();
      const delivery = await waitForDelivery(account, webhook.id, 'failed');
      expect(delivery.attempts).toHaveLength(1);
      await waitUntil(
        async () =>
          (await client.get<One<{ status: string }>>(`/v1/webhooks/${webhook.id}`)).body.data.status === 'disabled',
        { what: 'the webhook to be disabled' },
      );
    });

    test('a rotated secret signs from then on', async () => {
      const subscriber = await subscribed(0);
      const rotated = await account.rms<{ secret: string }>('webhooks', 'rotate-secret', subscriber.webhook.id);
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
        (await client.get<One<{ status: string }>>(`/v1/webhooks/${subscriber.webhook.id}`)).body.data.status;
      await account.rms('webhooks', 'disable', subscriber.webhook.id);
      expect(await status()).toBe('disabled');
      await account.rms('webhooks', 'enable', subscriber.webhook.id);
      expect(await status()).toBe('active');
      await account.rms('webhooks', 'test', subscriber.webhook.id);
      const [event] = await subscriber.waitFor(1);
      const expected = createHmac('sha256', subscriber.secret)
        .update(event?.raw ?? '')
        .digest('hex');
      expect(event?.headers['x-service-signature']).toBe(expected);
    });
  });
}
