import { DelayReason, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookHealthState } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { laneOf, newEvent, newEvents, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

describe('a paused webhook', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perTest(startReceiver);

  const statusesOf = async (tenant: Tenant) => (await rms.list(tenant)).map(({ status }) => status);
  const healthOf = async (tenant: Tenant, id: string) =>
    (await rms.webhooks.batchGetWebhookHealth({ ...tenant, ids: [id] })).healths[0];
  /** Waits until a webhook's schedule is stopped. */
  const unscheduled = (id: string) =>
    waitUntil(
      async () => {
        const { rows } = await rms.database.pool.query(
          'select from webhooks.endpoints where webhook_id = $1 and paused and next_due_at is null',
          [id],
        );
        return rows.length === 1;
      },
      { what: 'a schedule that is stopped' },
    );
  /** Delivers an event to another webhook, which shows that the engine has polled since. */
  const passTime = async () => {
    const other = newTenant();
    await rms.subscribe(other, receiver.url);
    await rms.publish(newEvent(other));
    await rms.settled(other, 1);
  };

  test('keeps its queue, gets deliveries, attempts none, and delivers all of them when it is resumed', async () => {
    const tenant = newTenant();
    const failing = await startReceiver();
    failing.respondWith(500);
    const { id } = await rms.subscribe(tenant, failing.url, { retryPolicy: retries(5, 50) });
    await rms.publish(newEvent(tenant));
    await waitUntil(async () => failing.requests.length > 0, { what: 'an attempt' });
    const { webhook } = await rms.webhooks.pauseWebhook({ ...tenant, id });
    expect(webhook?.status).toBe(WebhookStatus.PAUSED);
    // The attempt in flight may end.
    await rms.retrying(tenant);
    await rms.publish(...newEvents(tenant, 3));
    await waitUntil(async () => (await rms.list(tenant)).length === 4, { what: 'deliveries' });
    await unscheduled(id);
    const before = failing.requests.length;
    await passTime();
    expect(failing.requests.length).toBe(before);
    const health = await healthOf(tenant, id);
    expect([health?.unfinished, health?.delayReason, health?.nextAttemptTime]).toEqual([
      4,
      DelayReason.PAUSED,
      undefined,
    ]);
    const waiting = await rms.list(tenant, { statuses: [DeliveryStatus.PENDING] });
    expect(waiting.map(({ delayReason }) => delayReason)).toEqual(Array(3).fill(DelayReason.PAUSED));
    failing.respondWith(200);
    expect((await rms.webhooks.resumeWebhook({ ...tenant, id })).webhook?.status).toBe(WebhookStatus.ACTIVE);
    await rms.settled(tenant, 4);
    expect(await statusesOf(tenant)).toEqual(Array(4).fill(DeliveryStatus.DELIVERED));
    expect((await healthOf(tenant, id))?.delayReason).toBe(DelayReason.UNSPECIFIED);
    await failing.close();
  });

  test('is paused from its creation on, also with ordered deliveries and redeliveries', async () => {
    const tenant = newTenant();
    const { id } = await rms.subscribe(tenant, receiver.url, { status: WebhookStatus.PAUSED, ordered: true });
    const events = laneOf(tenant, 3);
    await rms.publish(...events);
    await waitUntil(async () => (await rms.list(tenant)).length === 3, { what: 'deliveries' });
    await unscheduled(id);
    // IDs of the same millisecond are in no order.
    const first = (await rms.list(tenant)).find(({ eventId }) => eventId === events[0]?.id);
    await rms.deliveries.redeliverDelivery({ ...tenant, id: first?.id ?? '' });
    await passTime();
    expect(await statusesOf(tenant)).toEqual(Array(3).fill(DeliveryStatus.PENDING));
    await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.ACTIVE });
    await rms.settled(tenant, 3);
    const names = receiver.requests.filter(({ json }) => json.data.object.name.length === 1);
    expect(names.map(({ json }) => json.data.object.name)).toEqual(['0', '1', '2']);
  });

  test('ends its queue as failed when it is disabled; pausing a disabled webhook is a conflict', async () => {
    const tenant = newTenant();
    const { id } = await rms.subscribe(tenant, receiver.url, { status: WebhookStatus.PAUSED });
    await rms.publish(newEvent(tenant));
    await waitUntil(async () => (await rms.list(tenant)).length === 1, { what: 'a delivery' });
    await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.DISABLED });
    expect((await rms.settled(tenant, 1)).map(({ endReason }) => endReason)).toEqual(['webhook_disabled']);
    for (const method of ['pauseWebhook', 'resumeWebhook'] as const) {
      await expect(rms.webhooks[method]({ ...tenant, id })).rejects.toMatchObject({ code: 'conflict' });
    }
    const { webhook } = await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.PAUSED });
    expect([webhook?.status, webhook?.disableReason]).toEqual([WebhookStatus.PAUSED, '']);
  });

  test('a webhook that is created disabled skips its events', async () => {
    const tenant = newTenant();
    const { id } = await rms.subscribe(tenant, receiver.url, { status: WebhookStatus.DISABLED });
    await rms.publish(newEvent(tenant));
    expect((await rms.settled(tenant, 1)).map(({ status }) => status)).toEqual([DeliveryStatus.SKIPPED]);
    const { webhook } = await rms.webhooks.getWebhook({ ...tenant, id });
    expect([webhook?.status, webhook?.disableReason]).toEqual([WebhookStatus.DISABLED, 'manual']);
  });

  test('a repeated call with an idempotency key returns the stored webhook', async () => {
    const tenant = newTenant();
    const { id } = await rms.subscribe(tenant, receiver.url);
    const paused = await rms.webhooks.pauseWebhook({ ...tenant, id, idempotencyKey: 'once' });
    await rms.webhooks.resumeWebhook({ ...tenant, id });
    const again = await rms.webhooks.pauseWebhook({ ...tenant, id, idempotencyKey: 'once' });
    expect([again.replayed, again.webhook]).toEqual([true, paused.webhook]);
    expect((await rms.webhooks.getWebhook({ ...tenant, id })).webhook?.status).toBe(WebhookStatus.ACTIVE);
  });
});

describe('the list of webhooks', () => {
  const rms = perSuite(startWebhooks);

  test('is filtered by URL, status and health, in pages', async () => {
    const tenant = newTenant();
    const url = 'http://127.0.0.1:9999/same?x=%C3%BC';
    const made = new Map<string, string>();
    for (const [name, status] of Object.entries({ a: 1, b: 2, c: 3, d: 1, e: 1 })) {
      made.set((await rms.subscribe(tenant, name < 'd' ? url : `${url}${name}`, { status })).id, name);
    }
    const idOf = (name: string) => [...made].find(([, one]) => one === name)?.[0];
    await rms.database.pool.query('update webhooks.webhooks set failing_since = now() where id = $1', [idOf('d')]);
    await rms.database.pool.query(
      `insert into webhooks.endpoints (webhook_id, workspace_id, environment, pause_ms, open_since, not_before)
       values ($1, $2, 'live', 500, now(), now() + interval '1 minute')`,
      [idOf('e'), tenant.workspaceId],
    );
    const list = async (filter: object, pageSize = 100) => {
      const names: (string | undefined)[] = [];
      for (let pageToken = ''; ; ) {
        const page = await rms.webhooks.listWebhooks({ ...tenant, pageSize, pageToken, ...filter });
        names.push(...page.webhooks.map(({ id }) => made.get(id)));
        pageToken = page.nextPageToken;
        if (pageToken === '') return [names.join(''), page.totalSize] as const;
      }
    };
    expect(await list({})).toEqual(['edcba', 5n]);
    for (const [filter, expected] of [
      [{ url }, 'cba'],
      [{ url: 'http://127.0.0.1:9999/same?x=ü' }, 'cba'],
      [{ url: `${url}d` }, 'd'],
      [{ url: 'http://127.0.0.1:9999/same' }, ''],
      [{ url: 'not a URL' }, ''],
      [{ status: WebhookStatus.ACTIVE }, 'eda'],
      [{ status: WebhookStatus.PAUSED }, 'c'],
      [{ status: WebhookStatus.DISABLED }, 'b'],
      [{ health: WebhookHealthState.HEALTHY }, 'a'],
      [{ health: WebhookHealthState.FAILING }, 'd'],
      [{ health: WebhookHealthState.PAUSED }, 'ec'],
      [{ health: WebhookHealthState.DISABLED }, 'b'],
      [{ url, status: WebhookStatus.ACTIVE }, 'a'],
      [{ url, status: WebhookStatus.ACTIVE, health: WebhookHealthState.FAILING }, ''],
    ] as const) {
      for (const size of [100, 1]) expect([filter, await list(filter, size)]).toEqual([filter, [expected, 0n]]);
    }
    const { nextPageToken } = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 1, url });
    await expect(rms.webhooks.listWebhooks({ ...tenant, pageSize: 1, pageToken: nextPageToken })).rejects.toMatchObject(
      {
        code: 'invalid_request',
      },
    );
  });

  test('is listed in pages of at most 1 MiB, in both directions', async () => {
    const tenant = newTenant();
    await rms.database.pool.query(
      `insert into webhooks.webhooks (workspace_id, environment, id, url, events, status, secret_sealed, max_retries,
                                      initial_delay_ms, max_delay_ms, created_at, updated_at, client_certificate)
       select $1, 'live', 'wh_large' || lpad(i::text, 3, '0'), 'https://example.com', '{*}', 'active', '', 5, 1, 1, now(), now(), repeat('x', 30000)
         from generate_series(1, 100) as i`,
      [tenant.workspaceId],
    );
    for (const filter of [{}, { status: WebhookStatus.ACTIVE }]) {
      const first = await rms.webhooks.listWebhooks({ ...tenant, pageSize: 100, ...filter });
      const next = await rms.webhooks.listWebhooks({
        ...tenant,
        pageSize: 100,
        pageToken: first.nextPageToken,
        ...filter,
      });
      const back = { ...tenant, pageSize: 100, pageToken: next.previousPageToken, ...filter };
      expect([first, next, await rms.webhooks.listWebhooks(back)].map(({ webhooks }) => webhooks.length)).toEqual([
        31, 31, 31,
      ]);
      expect(next.webhooks[0]?.id).toBe('wh_large069');
    }
  });
});
