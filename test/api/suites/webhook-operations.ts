import { disposable, freePort, startReceiver, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, One, Page, Resource, TestAttempt, Webhook } from '../support/api-types.ts';
import type { Target } from '../support/shape.ts';
import { subscribe } from '../support/subscriber.ts';
import { webhookAccount } from '../support/webhook-scene.ts';

export function webhookOperationsSuite(target: () => Target): void {
  describe('Operations of webhooks', () => {
    const { client, receiver, create, read } = webhookAccount(target);

    test('a webhook reports its health and why it is disabled', async () => {
      const { webhook } = await subscribe(client, receiver);
      expect(webhook).toMatchObject({
        disabled_reason: null,
        health: {
          state: 'healthy',
          success_rate_1h: null,
          pending: 0,
          oldest_pending_at: null,
          next_attempt_at: null,
        },
      });
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Delivered' }), 201);
      await waitUntil(async () => (await read(webhook)).health.success_rate_1h === 1, { what: 'a success rate' });
      const failing = await create({ url: `http://127.0.0.1:${await freePort()}/`, retry_policy: { delays: [3_600] } });
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Not delivered' }), 201);
      await waitUntil(async () => (await read(failing)).health.success_rate_1h === 0, { what: 'a failed attempt' });
      const { health } = await read(failing);
      expect(health).toMatchObject({ state: 'failing', pending: 1 });
      expect(Date.parse(health.next_attempt_at ?? '')).toBeGreaterThan(Date.parse(health.oldest_pending_at ?? ''));
      const disabled = await client.patch<One<Webhook>>(`/v1/webhooks/${failing.id}`, { status: 'disabled' });
      expect(disabled.body.data).toMatchObject({ disabled_reason: 'manual', health: { state: 'disabled' } });
      const { data } = (await client.get<Page<Webhook>>('/v1/webhooks?per_page=100')).body;
      expect(data.find(({ id }) => id === failing.id)).toMatchObject({ disabled_reason: 'manual' });
    });

    test('a paused webhook keeps its queue, and delivers it when it is resumed', async () => {
      await using own = disposable(await startReceiver({ path: '' }), 'close');
      const { webhook } = await subscribe(client, own);
      const path = `/v1/webhooks/${webhook.id}`;
      const paused = await client.post<One<Webhook>>(`${path}/pause`, {});
      expect(paused.headers.etag).toBe((await client.get(path)).headers.etag);
      expect([paused.status, paused.body.data.status, paused.body.data.health.state]).toEqual([
        200,
        'paused',
        'paused',
      ]);
      const made = await client.post<One<Resource>>('/v1/resources', { name: 'While paused' });
      const { id } = expectStatus(made, 201).body.data;
      await waitUntil(async () => (await read(webhook)).health.pending === 1, { what: 'a queued delivery' });
      const isDelivered = () => own.requests.some(({ json }) => json.data.object.id === id);
      const deliveries = `/v1/deliveries?webhook_id=${webhook.id}`;
      const [waiting] = (await client.get<Page<{ status: string; delay_reason: string }>>(deliveries)).body.data;
      expect([isDelivered(), waiting?.status]).toEqual([false, 'pending']);
      const resumed = await client.post<One<Webhook>>(`${path}/resume`, {});
      expect([resumed.status, resumed.body.data.status]).toEqual([200, 'active']);
      await waitUntil(async () => isDelivered(), { what: 'the delivery' });
      expect((await client.patch<One<Webhook>>(path, { status: 'paused' })).body.data.status).toBe('paused');
      expect((await client.patch<One<Webhook>>(path, { status: 'disabled' })).body.data.status).toBe('disabled');
      for (const action of ['pause', 'resume']) {
        const { status, body } = await client.post<ErrorBody>(`${path}/${action}`, {});
        expect([action, status, body.error.code]).toEqual([action, 409, 'conflict']);
      }
    });

    test('a test delivery returns the attempt with request and response, once per Idempotency-Key', async () => {
      const subscriber = await subscribe(client, receiver);
      const path = `/v1/webhooks/${subscriber.webhook.id}/test`;
      const body = { event_type: 'resource.status_changed' };
      const send = () => client.post<One<TestAttempt>>(path, body, { idempotencyKey: 'test once' });
      const first = expectStatus(await send(), 200);
      const [received, ...others] = subscriber.received();
      expect(others).toEqual([]);
      expect(received?.envelope.type).toBe('resource.status_changed');
      expect(first.body.data).toMatchObject({
        request: { url: subscriber.webhook.url, body: received?.raw.toString() },
        response: { status: 200, truncated: false },
        error: null,
        remote_address: new URL(subscriber.webhook.url).hostname,
      });
      expect(first.body.data.request.headers['webhook-id']).toBe(received?.envelope.id);
      const again = await send();
      expect([again.text, again.headers['idempotency-replayed']]).toEqual([first.text, 'true']);
      expect(subscriber.received()).toHaveLength(1);
      const { delivery_id: deliveryId } = first.body.data;
      const logged = await client.get<One<{ test: boolean; event_id: string; attempts: { request: object }[] }>>(
        `/v1/deliveries/${deliveryId}`,
      );
      expect(logged.body.data).toMatchObject({
        test: true,
        event_id: received?.envelope.id,
        attempts: [{ request: { body: received?.raw.toString() } }],
      });
      const listed = async (query: string) =>
        (
          await client.get<Page<{ id: string }>>(`/v1/deliveries?webhook_id=${subscriber.webhook.id}&${query}`)
        ).body.data.map(({ id }) => id);
      expect(await listed('test=true')).toEqual([deliveryId]);
      expect(await listed('test=false')).toEqual([]);
      expect((await client.send('POST', `/v1/deliveries/${deliveryId}/redeliver`)).status).toBe(409);
    });

    test('a failed test delivery returns 200 with the error', async () => {
      const { id } = await create({ url: `http://127.0.0.1:${await freePort()}/` });
      const { status, body } = await client.send<One<TestAttempt>>('POST', `/v1/webhooks/${id}/test`);
      expect([status, body.data]).toMatchObject([200, { response: null, error: expect.stringMatching(/^connect/) }]);
      for (const event_type of ['*', 'resource.renamed', '', 1]) {
        expect((await client.post(`/v1/webhooks/${id}/test`, { event_type })).status).toBe(400);
      }
      expect((await client.send('POST', `/v1/webhooks/wh_${'0'.repeat(26)}/test`)).status).toBe(404);
    });
  });
}
