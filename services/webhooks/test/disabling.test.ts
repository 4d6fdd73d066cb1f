import { fromBinary } from '@bufbuild/protobuf';
import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { type Notice, NoticeSchema } from '@rms/proto/rms/events/v1/notice_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from './support.ts';

const hour = durationFromMs(3_600_000);

describe('a webhook that is disabled by itself', () => {
  let rms: Webhooks;
  let receiver: Receiver;
  const notices: Notice[] = [];
  const listening = new AbortController();
  let listened: Promise<void>;
  beforeAll(async () => {
    rms = await startWebhooks({ disableAfterHours: 2 });
    listened = rms.bus.consume(
      {
        topic: 'rms.notices.v1',
        group: 'owners',
        onBatch: async (records) => void notices.push(...records.map(({ value }) => fromBinary(NoticeSchema, value))),
      },
      listening.signal,
    );
  });
  afterAll(async () => {
    listening.abort();
    await listened;
    await rms?.stop();
  });
  beforeEach(async () => {
    receiver = await startReceiver();
  });
  afterEach(() => receiver.close());

  const subscribe = async (tenant: Tenant, maxRetries: number) => {
    const { webhook } = await rms.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
    const id = webhook?.id ?? '';
    await rms.webhooks.updateWebhook({
      ...tenant,
      id,
      retryPolicy: { maxRetries, initialDelay: hour, maxDelay: hour },
    });
    return id;
  };
  const webhookOf = async (tenant: Tenant, id: string) => (await rms.webhooks.getWebhook({ ...tenant, id })).webhook;
  const untilDisabled = (tenant: Tenant, id: string) =>
    waitUntil(async () => (await webhookOf(tenant, id))?.status === WebhookStatus.DISABLED, {
      what: 'it to be disabled',
    });
  const failingSince = async (id: string) => {
    const { rows } = await rms.database.pool.query<{ since: Date | null }>(
      'select failing_since as since from webhooks.webhooks where id = $1',
      [id],
    );
    return rows[0]?.since;
  };
  /** As if so much time had passed. */
  const failedFor = (id: string, hours: number) =>
    rms.database.pool.query(
      "update webhooks.webhooks set failing_since = now() - $2 * interval '1 hour' where id = $1",
      [id, hours],
    );
  const noticesOf = ({ workspaceId }: Tenant) => notices.filter((notice) => notice.workspaceId === workspaceId);

  test('since it is gone (410): what is pending fails, and its owner is told', async () => {
    const tenant = newTenant(Environment.SANDBOX);
    const id = await subscribe(tenant, 5);
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant), newEvent(tenant));
    await waitUntil(async () => (await rms.list(tenant, { status: DeliveryStatus.RETRYING })).length === 2, {
      what: 'the first attempts',
    });
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
    });
    const unpublished = () => rms.database.pool.query('select from webhooks.notices');
    await waitUntil(async () => (await unpublished()).rowCount === 0, { what: 'the notice to be forgotten' });
    expect(new Set(noticesOf(tenant).map((notice) => notice.id)).size).toBe(1);
  });

  /** One more event, whose delivery fails for good. */
  const fails = async (tenant: Tenant) => {
    receiver.respondWith(500);
    const before = (await rms.list(tenant)).length;
    await rms.publish(newEvent(tenant));
    await rms.settled(tenant, before + 1);
  };

  test('since all has failed for hours: its owner is told, and it begins anew once it is enabled', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant, 0);
    await fails(tenant);
    await waitUntil(() => failingSince(id), { what: 'the failure to be noted' });
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
  });

  test('not before those hours are over, and not if something has arrived since', async () => {
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
    await waitUntil(async () => (await failingSince(otherId)) === null, { what: 'the success to be noted' });
    await fails(other);
    expect(await webhookOf(other, otherId)).toMatchObject({ status: WebhookStatus.ACTIVE });
  });

  test('a failure that comes from where the webhook led before does not disable it', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant, 0);
    const elsewhere = await startReceiver();
    let answer = () => {};
    receiver.respondWith((_, response) => {
      answer = () => void response.writeHead(410).end();
    });
    await rms.publish(newEvent(tenant));
    await waitUntil(() => receiver.requests.length === 1, { what: 'the attempt' });
    await rms.webhooks.updateWebhook({ ...tenant, id, url: elsewhere.url });
    answer();
    await rms.settled(tenant, 1);
    await rms.publish(newEvent(tenant));
    await waitUntil(() => elsewhere.requests.length === 1, { what: 'an attempt at the other URL' });
    await elsewhere.close();
    expect(await webhookOf(tenant, id)).toMatchObject({ status: WebhookStatus.ACTIVE });
  });
});

test('while nobody takes notices they wait, and the service is ready', async () => {
  const rms = await startWebhooks();
  const receiver = await startReceiver();
  receiver.respondWith(410);
  const tenant = newTenant();
  await rms.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
  await rms.publish(newEvent(tenant));
  await rms.settled(tenant, 1);
  const unpublished = async () => (await rms.database.pool.query('select from webhooks.notices')).rowCount;
  await waitUntil(async () => (await unpublished()) === 1, { what: 'the notice' });
  await rms.publish(newEvent(tenant));
  expect(await unpublished()).toBe(1);
  await receiver.close();
  await rms.stop();
});
