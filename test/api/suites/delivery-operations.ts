import { newId } from '@rms/base/ids';
import { perTest, startReceiver, waitUntil } from '@rms/testkit';
import { expectStatus } from '../support/api-client.ts';
import type { ErrorBody, FeedPage, One, Page, Resource } from '../support/api-types.ts';
import { newAccount, type Target } from '../support/shape.ts';
import { retryFast, subscribe } from '../support/subscriber.ts';

interface DeliveryObject {
  readonly id: string;
  readonly status: string;
  readonly event_id: string;
  readonly attempt_count: number;
  readonly next_attempt_at: string | null;
  readonly ended_at: string | null;
}

interface ReplayObject {
  readonly id: string;
  readonly status: string;
  readonly sent: number;
}

/** Deliveries, replays and single events through the REST API. */
export function deliveryOperationsSuite(target: () => Target): void {
  describe('Delivery operations', () => {
    const account = perTest(() => newAccount(target()));
    const client = perTest(() => account.client('live', 'admin'));
    const receiver = perTest(() => startReceiver({ path: '' }));
    const subscriber = perTest(() => subscribe(client, receiver, ['resource.created']));

    const emit = async (name = 'Event', headers: Record<string, string> = {}) =>
      expectStatus(await client.post<One<Resource>>('/v1/resources', { name }, { headers }), 201).body.data;
    const list = async (query = '') =>
      expectStatus(await client.get<Page<DeliveryObject>>(`/v1/deliveries${query}`), 200).body;
    const post = <T>(path: string, json?: object, idempotencyKey?: string) =>
      client.send<T>('POST', path, { json, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) });
    const untilStatus = (status: string, count = 1) =>
      waitUntil(
        async () => {
          const { data } = await list(`?status=${status}`);
          return data.length === count && data;
        },
        { what: `${count} deliveries with the status ${status}` },
      );
    /** Creates an event with a failing first attempt, and a retry that is due in a minute. */
    const retrying = async () => {
      receiver.respondWith(500);
      await emit();
      const [delivery] = await untilStatus('retrying');
      return (delivery as DeliveryObject).id;
    };
    const auditOf = async (action: string) =>
      (await account.rms<{ data: { actor: string; target_id: string }[] }>('audit', '--action', action)).data;

    test('deliveries are listed newest first, with every filter, page by page', async () => {
      const resources = [
        await emit('One', { 'X-Request-ID': 'deliveries-one' }),
        await emit('Two'),
        await emit('Three'),
      ];
      const all = await untilStatus('delivered', 3);
      expect(all.map(({ id }) => id)).toEqual(
        all
          .map(({ id }) => id)
          .sort()
          .reverse(),
      );
      const [oldest] = all.slice(-1) as [DeliveryObject];
      for (const query of [
        'request_id=deliveries-one',
        `resource_id=${resources[0]?.id}`,
        `event_id=${oldest.event_id}`,
        `resource_id=${resources[0]?.id}&webhook_id=${subscriber.webhook.id}&event_type=resource.created&status=delivered`,
      ]) {
        expect([query, (await list(`?${query}`)).data.map(({ id }) => id)]).toEqual([query, [oldest.id]]);
      }
      for (const query of [
        `webhook_id=${newId('wh')}`,
        'status=failed&status=canceled',
        'event_type=resource.deleted',
        'test=true',
      ]) {
        expect([query, (await list(`?${query}`)).data]).toEqual([query, []]);
      }
      expect((await list('?created_after=2999-01-01T00:00:00Z')).data).toEqual([]);
      expect((await list('?created_before=2999-01-01T00:00:00.5Z&test=false')).data).toHaveLength(3);
      const pages = [await list('?per_page=2')];
      for (let next = pages[0]?.links.next; next; next = pages.at(-1)?.links.next) {
        pages.push(expectStatus(await client.get<Page<DeliveryObject>>(next), 200).body);
      }
      expect(pages.flatMap(({ data }) => data).map(({ id }) => id)).toEqual(all.map(({ id }) => id));
      expect(pages[0]?.meta).toEqual({ total: null, page: 1, per_page: 2 });
      const foreign = await client.get<ErrorBody>(`${pages[0]?.links.next}&status=failed`);
      expect([foreign.status, foreign.body.error.details?.[0]?.field]).toEqual([400, 'cursor']);
    });

    test('a delivery is shown with the request and the response of every attempt', async () => {
      receiver.respondWith((_, response) => {
        response.writeHead(200, { 'x-custom': 'yes' }).end('thanks');
      });
      await emit();
      const [delivery] = await untilStatus('delivered');
      const answer = await client.get<One<Record<string, unknown>>>(`/v1/deliveries/${delivery?.id}`);
      const [received] = subscriber.received();
      expect(expectStatus(answer, 200).body.data).toMatchObject({
        attempt_count: 1,
        ended_at: expect.any(String),
        attempts: [
          {
            number: 1,
            request: {
              url: subscriber.webhook.url,
              headers: { 'webhook-id': delivery?.event_id },
              body: received?.raw.toString(),
            },
            response: { status: 200, headers: { 'x-custom': 'yes' }, body: 'thanks', truncated: false },
            error: null,
            remote_address: expect.any(String),
          },
        ],
      });
      const headers = { 'If-None-Match': answer.headers.etag ?? '' };
      expect((await client.get(`/v1/deliveries/${delivery?.id}`, { headers })).status).toBe(304);
    });

    test('a redelivery starts the next attempt immediately and happens only once per Idempotency-Key', async () => {
      const id = await retrying();
      receiver.respondWith(200);
      const first = await post<One<DeliveryObject>>(`/v1/deliveries/${id}/redeliver`, undefined, 'again');
      expect([first.status, first.body.data.id]).toEqual([202, id]);
      await untilStatus('delivered');
      const repeated = await post(`/v1/deliveries/${id}/redeliver`, undefined, 'again');
      expect([repeated.status, repeated.text, repeated.headers['idempotency-replayed']]).toEqual([
        202,
        first.text,
        'true',
      ]);
      expect((await list()).data).toMatchObject([{ id, status: 'delivered', attempt_count: 2 }]);
      expect(await auditOf('delivery.redelivered')).toMatchObject([
        { actor: expect.stringMatching(/^key:key_/), target_id: id },
      ]);
    });

    test('a canceled delivery gets no further attempt; canceling an ended one gets 409 conflict', async () => {
      const id = await retrying();
      const canceled = await post<One<DeliveryObject>>(`/v1/deliveries/${id}/cancel`, undefined, 'cancel');
      const repeated = await post(`/v1/deliveries/${id}/cancel`, undefined, 'cancel');
      expect([repeated.text, repeated.headers['idempotency-replayed']]).toEqual([canceled.text, 'true']);
      expect(canceled.body).toMatchObject({
        data: { id, status: 'canceled', next_attempt_at: null, ended_at: expect.any(String) },
      });
      const again = await post<ErrorBody>(`/v1/deliveries/${id}/cancel`);
      expect([again.status, again.body.error.code]).toEqual([409, 'conflict']);
      expect((await list('?status=canceled')).data.map((one) => one.id)).toEqual([id]);
      expect(await auditOf('delivery.canceled')).toMatchObject([
        { actor: expect.stringMatching(/^key:key_/), target_id: id },
      ]);
    });

    test('a replay sends failed deliveries again, and a dry run only counts them', async () => {
      await retryFast(account, subscriber.webhook.id, 0);
      receiver.respondWith(500);
      await emit();
      await emit();
      await untilStatus('failed', 2);
      receiver.respondWith(200);
      const body = { webhook_id: subscriber.webhook.id, created_after: '2026-01-01T00:00:00Z', statuses: ['failed'] };
      const dryRun = await post('/v1/replays', { ...body, event_types: ['resource.created'], dry_run: true });
      expect([dryRun.status, dryRun.body]).toMatchObject([200, { data: { matching: 2, matching_is_minimum: false } }]);
      const other = await post('/v1/replays', { ...body, event_types: ['resource.deleted'], dry_run: true });
      expect(other.body).toMatchObject({ data: { matching: 0 } });
      const begun = await post<One<ReplayObject>>('/v1/replays', { ...body, rate_per_second: 1 }, 'replay');
      const { id } = expectStatus(begun, 201).body.data;
      const repeated = await post<One<ReplayObject>>('/v1/replays', { ...body, rate_per_second: 1 }, 'replay');
      expect([repeated.body.data.id, repeated.headers['idempotency-replayed']]).toEqual([id, 'true']);
      await untilStatus('delivered', 2);
      await waitUntil(
        async () => (await client.get<One<ReplayObject>>(`/v1/replays/${id}`)).body.data.status === 'done',
        { what: 'the end of the replay' },
      );
      const { data } = (await client.get<Page<ReplayObject>>('/v1/replays')).body;
      expect(data).toMatchObject([{ id, status: 'done', matching: 2, sent: 2, webhook_id: subscriber.webhook.id }]);
      expect(expectStatus(await post(`/v1/replays/${id}/cancel`), 200).body).toMatchObject({
        data: { status: 'done' },
      });
      expect(await auditOf('deliveries.replayed')).toMatchObject([{ actor: expect.stringMatching(/^key:key_/) }]);
    });

    test('one event is returned as it is in the feed, also to a read key', async () => {
      await emit();
      await untilStatus('delivered');
      const reader = await account.client('live', 'read');
      const [event] = (await reader.get<FeedPage>('/v1/events')).body.data;
      expect(expectStatus(await reader.get(`/v1/events/${event?.id}`), 200).body).toEqual({ data: event });
      expect((await reader.get('/v1/deliveries')).status).toBe(403);
    });

    test('deliveries, replays and events of other workspaces and environments do not exist', async () => {
      const id = await retrying();
      const [{ id: eventId } = { id: '' }] = (await client.get<FeedPage>('/v1/events')).body.data;
      const replay = { webhook_id: subscriber.webhook.id, created_after: '2026-01-01T00:00:00Z' };
      const own = await post<One<ReplayObject>>('/v1/replays', { ...replay, statuses: ['skipped'] });
      const { id: replayId } = expectStatus(own, 201).body.data;
      const stranger = await (await newAccount(target())).client('live', 'admin');
      for (const other of [stranger, await account.client('test', 'admin')]) {
        expect((await other.get<Page<DeliveryObject>>('/v1/deliveries')).body.data).toEqual([]);
        expect((await other.get(`/v1/deliveries/${id}`)).status).toBe(404);
        expect((await other.get(`/v1/events/${eventId}`)).status).toBe(404);
        for (const verb of ['redeliver', 'cancel']) {
          expect((await other.send('POST', `/v1/deliveries/${id}/${verb}`)).status).toBe(404);
        }
        expect((await other.post('/v1/replays', replay)).status).toBe(404);
        expect((await other.get<Page<ReplayObject>>('/v1/replays')).body.data).toEqual([]);
        expect((await other.get(`/v1/replays/${replayId}`)).status).toBe(404);
        expect((await other.send('POST', `/v1/replays/${replayId}/cancel`)).status).toBe(404);
      }
      expect((await list()).data).toMatchObject([{ id, status: 'retrying', attempt_count: 1 }]);
    });
  });
}
