import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { stepsOn } from '../leases.ts';
import { newEvent, newEvents, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

describe('deliveries', () => {
  const receivers: Receiver[] = [];
  afterAll(async () => {
    for (const receiver of receivers) await receiver.close();
  });
  const rms = perSuite(startWebhooks);

  /** Starts a receiver, with a webhook that retries quickly. */
  const subscribe = async (tenant: Tenant, events = ['*'], maxRetries = 2) => {
    const receiver = await startReceiver();
    receivers.push(receiver);
    const { id } = await rms.subscribe(tenant, receiver.url, { events, retryPolicy: retries(maxRetries, 20, 50) });
    return { receiver, id };
  };

  test('a delivery is shown with its request and its trace', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    const traceId = 'ab'.repeat(16);
    const event = { ...newEvent(tenant), traceparent: `00-${traceId}-00f067aa0ba902b7-03`, tracestate: 'vendor=1' };
    await rms.publish(event);
    const [one] = await rms.settled(tenant, 1);
    const shown = await rms.deliveries.getDelivery({ ...tenant, id: one?.id ?? '' });
    expect([shown.delivery?.id, Buffer.from(shown.requestBody), shown.traceId]).toEqual([
      one?.id,
      Buffer.from(event.body),
      traceId,
    ]);
    const sent = shown.delivery?.attempts[0]?.requestHeaders.filter(({ name }) => name.startsWith('trace'));
    expect(sent?.map(({ name, value }) => [name, value])).toEqual([
      ['traceparent', event.traceparent],
      ['tracestate', 'vendor=1'],
    ]);
  });

  test('retries and redeliveries have the trace context of the request', async () => {
    const tenant = newTenant();
    const { receiver } = await subscribe(tenant);
    receiver.respondWith((_, response) => void response.writeHead(receiver.requests.length === 1 ? 500 : 200).end());
    const event = {
      ...newEvent(tenant),
      traceparent: `00-${'ab'.repeat(16)}-00f067aa0ba902b7-03`,
      tracestate: 'vendor=1,other=2',
    };
    await rms.publish(event);
    const [retried] = await rms.settled(tenant, 1);
    await rms.deliveries.redeliverDelivery({ ...tenant, id: retried?.id ?? '' });
    await waitUntil(() => receiver.requests.length === 3, { what: 'the redelivery' });
    // An untraced event has no header.
    await rms.publish(newEvent(tenant));
    await waitUntil(() => receiver.requests.length === 4, { what: 'the other event' });
    const sent = receiver.requests.map(({ headers }) => [headers.traceparent, headers.tracestate]);
    const traced = [event.traceparent, event.tracestate];
    expect(sent).toEqual([traced, traced, traced, [undefined, undefined]]);
    await rms.settled(tenant, 2);
  });

  test('an event is sent once to each webhook subscribed to its type, with the exact bytes of its body', async () => {
    const tenant = newTenant();
    const all = await subscribe(tenant);
    const created = await subscribe(tenant, ['resource.created', 'resource.deleted']);
    const updated = await subscribe(tenant, ['resource.updated']);
    const outsider = await subscribe(newTenant());
    const event = newEvent(tenant, 'resource.created', 'Grüße 🎉');
    await rms.publish(event);
    const [one] = await rms.settled(tenant, 2);
    expect(one).toMatchObject({ status: DeliveryStatus.DELIVERED, eventId: event.id, requestId: event.requestId });
    for (const { receiver } of [all, created]) {
      expect(receiver.requests.map(({ body }) => body)).toEqual([Buffer.from(event.body)]);
      expect(receiver.requests[0]?.headers).toMatchObject({
        'content-type': 'application/json',
        'webhook-id': event.id,
        'x-request-id': event.requestId,
      });
    }
    expect([...updated.receiver.requests, ...outsider.receiver.requests]).toEqual([]);
  });

  test('a repeated event, in the same batch or later, is delivered once', async () => {
    const tenant = newTenant();
    const { receiver } = await subscribe(tenant);
    const event = newEvent(tenant);
    await rms.publish(event, event);
    await rms.publish(event);
    await rms.publish(newEvent(tenant, 'resource.updated'));
    await rms.settled(tenant, 2);
    expect(receiver.requests.filter(({ json }) => json.id === event.id)).toHaveLength(1);
  });

  test('an unreadable record becomes a dead letter and does not block other records', async () => {
    const tenant = newTenant();
    const { receiver } = await subscribe(tenant);
    await rms.publishRecords({ key: 'x', value: Buffer.from('no event'), headers: {} });
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 1);
    expect(receiver.requests).toHaveLength(1);
    expect(await rms.readDeadLetters()).toHaveLength(1);
  });

  test('a failing endpoint is retried as often as the policy allows, and the log has each attempt', async () => {
    const tenant = newTenant();
    const { receiver } = await subscribe(tenant);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    const [delivery] = await rms.settled(tenant, 1);
    expect(delivery?.status).toBe(DeliveryStatus.FAILED);
    expect(delivery?.attempts.map(({ number, statusCode, error }) => [number, statusCode, error])).toEqual([
      [1, 500, 'status: 500'],
      [2, 500, 'status: 500'],
      [3, 500, 'status: 500'],
    ]);
    expect(new Set(receiver.requests.map(({ body }) => body.toString('utf8'))).size).toBe(1);
  });

  test.each([201, 204, 301, 302, 307, 404, 503])('status %i is a failure and is not followed', async (status) => {
    const tenant = newTenant();
    const { receiver } = await subscribe(tenant, ['*'], 0);
    const elsewhere = await startReceiver();
    receivers.push(elsewhere);
    receiver.respondWith((_, response) => void response.writeHead(status, { location: elsewhere.url }).end());
    await rms.publish(newEvent(tenant));
    const [delivery] = await rms.settled(tenant, 1);
    expect(delivery).toMatchObject({ status: DeliveryStatus.FAILED, attempts: [{ statusCode: status }] });
    expect(elsewhere.requests).toEqual([]);
  });

  test('an unreachable endpoint fails with its reason', async () => {
    const tenant = newTenant();
    const { receiver } = await subscribe(tenant, ['*'], 0);
    await receiver.close();
    receivers.splice(receivers.indexOf(receiver), 1);
    await rms.publish(newEvent(tenant));
    const [delivery] = await rms.settled(tenant, 1);
    expect(delivery?.attempts).toMatchObject([
      { statusCode: 0, error: expect.stringMatching(/^connect: ECONNREFUSED after \d+ ms$/) },
    ]);
  });

  test('410 disables the webhook and fails the delivery', async () => {
    const tenant = newTenant();
    const { receiver, id } = await subscribe(tenant);
    receiver.respondWith(410);
    await rms.publish(newEvent(tenant));
    const [delivery] = await rms.settled(tenant, 1);
    expect(delivery).toMatchObject({ status: DeliveryStatus.FAILED, attempts: [{ statusCode: 410 }] });
    const disabled = await waitUntil(
      async () => {
        const { webhook } = await rms.webhooks.getWebhook({ ...tenant, id });
        return webhook?.status === WebhookStatus.DISABLED && webhook;
      },
      { what: 'the webhook to be disabled' },
    );
    expect(disabled.disableReason).toBe('gone');
    await rms.publish(newEvent(tenant));
    const [skipped, failed] = await rms.list(tenant);
    expect(skipped).toMatchObject({ status: DeliveryStatus.SKIPPED, attempts: [] });
    expect(failed?.id).toBe(delivery?.id);
  });

  test('failed deliveries can be redelivered individually, or per webhook since a given time', async () => {
    const tenant = newTenant();
    const { receiver, id } = await subscribe(tenant, ['*'], 0);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant), newEvent(tenant), newEvent(tenant));
    const failed = await rms.settled(tenant, 3);
    receiver.respondWith(200);
    await rms.deliveries.redeliverDelivery({ ...tenant, id: failed[0]?.id ?? '' });
    const [again] = await rms.settled(tenant, 3);
    expect(again).toMatchObject({ status: DeliveryStatus.DELIVERED, attempts: [{ number: 1 }, { number: 2 }] });

    const replay = { ...tenant, webhookId: id, since: timestampFromMs(Date.now() - 60_000) };
    expect((await rms.deliveries.replayDeliveries({ ...replay, dryRun: true })).count).toBe(2n);
    expect((await rms.deliveries.replayDeliveries(replay)).count).toBe(2n);
    const all = await rms.settled(tenant, 3);
    expect(all.map(({ status }) => status)).toEqual(all.map(() => DeliveryStatus.DELIVERED));
    expect((await rms.deliveries.replayDeliveries(replay)).count).toBe(0n);
  });

  test('a delivery with an expired lease is attempted again', async () => {
    const tenant = newTenant();
    const { receiver } = await subscribe(tenant);
    const event = newEvent(tenant);
    // The state left by an instance that died between the delivery's commit and the attempt.
    await stepsOn(rms.database.pool).store([event], 1);
    expect(receiver.requests).toEqual([]);
    await stepsOn(rms.database.pool).endLeases();
    await receiver.waitFor(({ json }) => json.id === event.id, 'the attempt');
    expect(await rms.settled(tenant, 1)).toMatchObject([
      { status: DeliveryStatus.DELIVERED, attempts: [{ number: 1 }] },
    ]);
  });

  test('a hanging endpoint does not delay other endpoints', async () => {
    const tenant = newTenant();
    const hanging = await subscribe(tenant);
    const healthy = await subscribe(tenant);
    hanging.receiver.respondWith(() => {});
    const events = newEvents(tenant, 100);
    await rms.publish(...events);
    await waitUntil(() => healthy.receiver.requests.length === 100, { what: 'all requests at the healthy endpoint' });
    // The hanging endpoint gets at most its concurrency limit.
    expect(hanging.receiver.requests.length).toBeLessThanOrEqual(32);
    await rms.webhooks.deleteWebhook({ ...tenant, id: hanging.id });
  });

  test('the log has the last attempt of each delivery; attempts and their contents are returned on request', async () => {
    const tenant = newTenant();
    const { receiver } = await subscribe(tenant, ['*'], 1);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, 1);
    const read = async (withAttempts: boolean) =>
      (await rms.deliveries.listDeliveries({ ...tenant, pageSize: 10, withAttempts })).deliveries[0];
    const last = {
      number: 2,
      statusCode: 500,
      requestHeaders: [],
      responseHeaders: [],
      responseBody: new Uint8Array(),
    };
    expect(await read(false)).toMatchObject({ attempts: [], attemptCount: 2, lastAttempt: last });
    const listed = await read(true);
    expect(listed).toMatchObject({
      attempts: [{ number: 1, requestHeaders: [] }, last],
      attemptCount: 2,
      lastAttempt: last,
    });
    const { delivery } = await rms.deliveries.getDelivery({ ...tenant, id: listed?.id ?? '' });
    expect(delivery?.attempts.map(({ requestHeaders }) => requestHeaders.length > 0)).toEqual([true, true]);
  });

  test('the log is paged, newest first, each delivery once', async () => {
    const tenant = newTenant();
    await subscribe(tenant);
    await rms.publish(...newEvents(tenant, 7));
    const all = (await rms.settled(tenant, 7)).map(({ id }) => id);
    const paged: string[] = [];
    let pageToken = '';
    do {
      const page = await rms.deliveries.listDeliveries({ ...tenant, pageSize: 3, pageToken });
      paged.push(...page.deliveries.map(({ id }) => id));
      pageToken = page.nextPageToken;
    } while (pageToken);
    expect(paged).toEqual(all);
    expect(await rms.list(newTenant())).toEqual([]);
  });

  test.each([
    ['webhookId', 'webhook_id', 'wh'],
    ['eventId', 'event_id', 'evt'],
    // Events are about resources, webhooks, keys and workspaces.
    ['resourceId', 'resource_id', 'res', '"res_", "wh_", "key_" or "ws_" and 26 characters'],
    ['resourceId', 'resource_id', 'wh', '"ws_" and 26 characters'],
    ['resourceId', 'resource_id', 'key', '"ws_" and 26 characters'],
    ['resourceId', 'resource_id', 'ws'],
  ])(
    'a filter %s that is not an ID is rejected, and the error names the form',
    async (filter, field, prefix, form = `"${prefix}_" and 26 characters`) => {
      const list = (value: string) => rms.deliveries.listDeliveries({ ...newTenant(), pageSize: 10, [filter]: value });
      await expect(list('foo')).rejects.toMatchObject({
        code: 'invalid_request',
        details: [{ field, message: expect.stringContaining(form) }],
      });
      expect((await list(`${prefix}_01jc3v9m0w7y8x2k4n6p8q0r2s`)).deliveries).toEqual([]);
    },
  );
});
