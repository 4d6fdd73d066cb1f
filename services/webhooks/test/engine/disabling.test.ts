import { fromBinary } from '@bufbuild/protobuf';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { type Notice, NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, perTest, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newEvents, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';

const hourMs = 3_600_000;

describe('a webhook that is disabled automatically', () => {
  const notices: Notice[] = [];
  const listening = new AbortController();
  let listened: Promise<void>;
  afterAll(async () => {
    listening.abort();
    await listened;
  });
  const rms = perSuite(() => startWebhooks({ disableAfterHours: 2 }));
  beforeAll(() => {
    listened = rms.bus.consume(
      {
        topic: 'rms.notices.v1',
        group: 'owners',
        onBatch: async (records) => void notices.push(...records.map(({ value }) => fromBinary(NoticeSchema, value))),
      },
      listening.signal,
    );
  });
  const receiver = perTest(startReceiver);

  const subscribe = async (tenant: Tenant, maxRetries: number) =>
    (await rms.subscribe(tenant, receiver.url, { retryPolicy: retries(maxRetries, hourMs) })).id;
  const webhookOf = async (tenant: Tenant, id: string) => (await rms.webhooks.getWebhook({ ...tenant, id })).webhook;
  const untilDisabled = (tenant: Tenant, id: string) =>
    waitUntil(async () => (await webhookOf(tenant, id))?.status === WebhookStatus.DISABLED, {
      what: 'the webhook to be disabled',
    });
  const failingSince = async (id: string) => {
    const { rows } = await rms.database.pool.query<{ since: Date | null }>(
      'select failing_since as since from webhooks.webhooks where id = $1',
      [id],
    );
    return rows[0]?.since;
  };
  /** Simulates that the webhook has been failing for `hours`. */
  const failedFor = (id: string, hours: number) =>
    rms.database.pool.query(
      "update webhooks.webhooks set failing_since = now() - $2 * interval '1 hour' where id = $1",
      [id, hours],
    );
  const noticesOf = ({ workspaceId }: Tenant) => notices.filter((notice) => notice.workspaceId === workspaceId);

  test('because it is gone (410): pending deliveries fail, and its owner is notified', async () => {
    const tenant = newTenant(Environment.SANDBOX);
    const id = await subscribe(tenant, 5);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant), newEvent(tenant));
    await rms.retrying(tenant, 2);
    receiver.respondWith(410);
    await rms.publish(newEvent(tenant));
    const log = await rms.settled(tenant, 3);
    expect(log.map(({ status }) => status)).toEqual(log.map(() => DeliveryStatus.FAILED));
    await untilDisabled(tenant, id);
    expect(await webhookOf(tenant, id)).toMatchObject({ disableReason: 'gone' });
    await waitUntil(() => noticesOf(tenant).length > 0, { what: 'the notice' });
    expect(noticesOf(tenant)[0]).toMatchObject({
      id: expect.stringMatching(/^ntc_/),
      type: 'webhook.disabled',
      environment: Environment.SANDBOX,
      subjectId: id,
      reason: 'gone',
      url: receiver.url,
    });
    const unpublished = () => rms.database.pool.query('select from webhooks.notices');
    await waitUntil(async () => (await unpublished()).rowCount === 0, { what: 'the notice to be deleted' });
    expect(new Set(noticesOf(tenant).map((notice) => notice.id)).size).toBe(1);
  });

  /** Publishes an event with a delivery that fails permanently. */
  const fails = async (tenant: Tenant) => {
    receiver.respondWith(500);
    const before = (await rms.list(tenant)).length;
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, before + 1);
  };

  test('because it has been failing for hours: its owner is notified, and enabling it resets its health', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant, 0);
    await fails(tenant);
    await waitUntil(() => failingSince(id), { what: 'the failure to be recorded' });
    await failedFor(id, 3);
    await fails(tenant);
    await untilDisabled(tenant, id);
    expect(await webhookOf(tenant, id)).toMatchObject({ disableReason: 'failing' });
    await waitUntil(() => noticesOf(tenant).length > 0, { what: 'the notice' });
    expect(noticesOf(tenant)[0]).toMatchObject({ subjectId: id, reason: 'failing' });

    const skipped = newEvent(tenant);
    await rms.publish(skipped);
    expect(await rms.list(tenant, { eventId: skipped.id })).toMatchObject([{ status: DeliveryStatus.SKIPPED }]);
    await rms.webhooks.updateWebhook({ ...tenant, id, status: WebhookStatus.ACTIVE });
    expect(await failingSince(id)).toBeNull();
    await waitUntil(() => noticesOf(tenant).some(({ type }) => type === 'webhook.enabled'), { what: 'its notice' });
    const sequenceOf = (type: string) => noticesOf(tenant).find((notice) => notice.type === type)?.sequence ?? 0n;
    expect(sequenceOf('webhook.disabled')).toBeGreaterThan(0n);
    expect(sequenceOf('webhook.enabled')).toBeGreaterThan(sequenceOf('webhook.disabled'));
  });

  test('because its endpoint is down and busy: the circuit is open, and no delivery has used up its retries', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant, 5);
    await failedFor(id, 3);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant));
    await rms.retrying(tenant);
    // A single failure does not disable it.
    expect(await webhookOf(tenant, id)).toMatchObject({ status: WebhookStatus.ACTIVE });
    await rms.publish(...newEvents(tenant, 20));
    await untilDisabled(tenant, id);
    expect(await webhookOf(tenant, id)).toMatchObject({ disableReason: 'failing' });
    await rms.settled(tenant, 21);
    await waitUntil(() => noticesOf(tenant).length > 0, { what: 'the notice' });
    expect(noticesOf(tenant)[0]).toMatchObject({ subjectId: id, reason: 'failing' });
  });

  test('because its endpoint rejects all deliveries (400): the circuit stays closed, and deliveries use up their retries', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant, 0);
    await failedFor(id, 3);
    receiver.respondWith(400);
    await rms.publish(newEvent(tenant));
    await untilDisabled(tenant, id);
    expect(await webhookOf(tenant, id)).toMatchObject({ disableReason: 'failing' });
  });

  test('stays active before those hours have passed, and after a successful delivery', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant, 0);
    await failedFor(id, 1);
    await fails(tenant);
    expect(await webhookOf(tenant, id)).toMatchObject({ status: WebhookStatus.ACTIVE });

    const other = newTenant();
    const otherId = await subscribe(other, 0);
    await failedFor(otherId, 3);
    receiver.respondWith(200);
    await rms.publish(newEvent(other));
    await waitUntil(async () => (await failingSince(otherId)) === null, { what: 'the success to be recorded' });
    await fails(other);
    expect(await webhookOf(other, otherId)).toMatchObject({ status: WebhookStatus.ACTIVE });
  });

  test('a failure of its previous URL does not disable it', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant, 0);
    const elsewhere = await startReceiver();
    let respond = () => {};
    receiver.respondWith((_, response) => {
      respond = () => void response.writeHead(410).end();
    });
    await rms.publish(newEvent(tenant));
    await waitUntil(() => receiver.requests.length === 1, { what: 'the attempt' });
    await rms.webhooks.updateWebhook({ ...tenant, id, url: elsewhere.url });
    respond();
    await rms.settled(tenant, 1);
    await rms.publish(newEvent(tenant));
    await waitUntil(() => elsewhere.requests.length === 1, { what: 'an attempt at the other URL' });
    await elsewhere.close();
    expect(await webhookOf(tenant, id)).toMatchObject({ status: WebhookStatus.ACTIVE });
  });
});

test('notices wait while there is no consumer, and the service is ready', async () => {
  const rms = await startWebhooks();
  const receiver = await startReceiver();
  receiver.respondWith(410);
  const tenant = newTenant();
  await rms.subscribe(tenant, receiver.url);
  await rms.publish(newEvent(tenant));
  await rms.settled(tenant, 1);
  const unpublished = async () => (await rms.database.pool.query('select from webhooks.notices')).rowCount;
  await waitUntil(async () => (await unpublished()) === 1, { what: 'the notice' });
  await rms.publish(newEvent(tenant));
  expect(await unpublished()).toBe(1);
  await receiver.close();
  await rms.stop();
});
