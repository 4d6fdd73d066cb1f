import { newId } from '@rms/ids';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, toRecord, type Webhooks } from '../support.ts';

const dayMs = 24 * 3_600_000;

describe('a record that cannot be processed', () => {
  let rms: Webhooks;
  let receiver: Receiver;
  let taken: ReturnType<Webhooks['takeDeadLetters']>;

  beforeAll(async () => {
    rms = await startWebhooks();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await receiver?.close();
    await rms?.stop();
  });
  beforeEach(() => {
    taken = rms.takeDeadLetters();
  });
  afterEach(() => taken.stop());

  const subscribed = async () => {
    const tenant = newTenant();
    await rms.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
    return tenant;
  };
  const counted = async (reason: string) => {
    const { values } = await (rms.metrics.getSingleMetric('rms_dead_letters_total')?.get() ?? { values: [] });
    return values.find(({ labels }) => labels.reason === reason)?.value ?? 0;
  };
  const isServing = async () => (await rms.health.check({})).status === ServingStatus.SERVING;

  test('becomes an unchanged, counted dead letter with reason and position; other records are delivered', async () => {
    const tenant = await subscribed();
    const [before, after] = [newEvent(tenant), newEvent(tenant)];
    const poison = { key: 'res_1', value: Buffer.from([0xff, 0x00, 0x80]), headers: { 'x-request-id': 'req_1' } };
    const already = await counted('unreadable');
    await rms.publishRecords(toRecord(before), poison, toRecord(after));
    const log = await rms.settled(tenant, 2);
    expect(log.map(({ eventId }) => eventId).sort()).toEqual([before.id, after.id].sort());
    expect(taken.letters).toHaveLength(1);
    expect(taken.letters[0]).toMatchObject({
      key: poison.key,
      headers: {
        'x-request-id': 'req_1',
        'dead-letter-reason': 'unreadable',
        'dead-letter-topic': 'rms.resource-events.v1',
        'dead-letter-partition': '0',
        'dead-letter-offset': '1',
      },
    });
    expect(Buffer.from(taken.letters[0]?.value ?? [])).toEqual(poison.value);
    expect(Date.parse(taken.letters[0]?.headers['dead-letter-time'] ?? '')).toBeGreaterThan(Date.now() - 60_000);
    expect(taken.letters[0]?.headers['dead-letter-detail']).not.toBe('');
    expect(await counted('unreadable')).toBe(already + 1);
  });

  test.each([
    ['has no event ID', 'incomplete', { id: 'nothing' }],
    ['has no workspace', 'incomplete', { workspaceId: '' }],
    ['has no environment', 'incomplete', { environment: Environment.UNSPECIFIED }],
    ['has no body', 'incomplete', { body: Buffer.alloc(0) }],
    ['is older than the log', 'out_of_time', { id: newId('evt', Date.now() - 30 * dayMs) }],
    ['is in the future', 'out_of_time', { id: newId('evt', Date.now() + 8 * dayMs) }],
  ])('becomes a dead letter if it %s: %s', async (_, reason, wrong) => {
    const tenant = await subscribed();
    await rms.publish(Object.assign(newEvent(tenant), wrong), newEvent(tenant));
    await rms.settled(tenant, 1);
    expect(taken.letters.map(({ headers }) => headers['dead-letter-reason'])).toEqual([reason]);
  });

  test('is no event that has waited for weeks, but less than LOG_RETENTION_DAYS: it is stored and delivered', async () => {
    const tenant = await subscribed();
    const events = [9, 20, 29.9].map((days) =>
      Object.assign(newEvent(tenant), { id: newId('evt', Date.now() - days * dayMs) }),
    );
    await rms.publish(...events, newEvent(tenant));
    const log = await rms.settled(tenant, 4);
    expect(log.every(({ status }) => status === DeliveryStatus.DELIVERED)).toBe(true);
    expect(log.map(({ eventId }) => eventId)).toEqual(expect.arrayContaining(events.map(({ id }) => id)));
    expect(taken.letters).toEqual([]);
  });

  test('is isolated if PostgreSQL rejects its content, and all other records are delivered once', async () => {
    const tenant = await subscribed();
    const events = Array.from({ length: 60 }, () => newEvent(tenant));
    const [nul, endless] = [newEvent(tenant), newEvent(tenant)];
    nul.requestId = 'req_\0';
    // Exceeds the maximum size of an index entry, even when compressed.
    endless.resourceId = Array.from({ length: 4_000 }, () => newId('res')).join('');
    events.splice(20, 0, nul);
    events.splice(50, 0, endless);
    const received = receiver.requests.length;
    await rms.publish(...events);
    const log = await rms.settled(tenant, 60);
    expect(log).toHaveLength(60);
    expect(log.every(({ status }) => status === DeliveryStatus.DELIVERED)).toBe(true);
    expect(receiver.requests).toHaveLength(received + 60);
    expect(taken.letters.map(({ key, headers }) => [key, headers['dead-letter-reason']])).toEqual([
      [nul.resourceId, 'refused'],
      ['', 'refused'],
    ]);
    expect(taken.letters[1]?.headers['dead-letter-cut']).toContain('bytes');
    expect((await rms.feed.listEvents({ ...tenant, pageSize: 1 })).newestPosition).toBe(60n);
  });

  test('is redelivered if the dead-letter topic rejects it; the rest of its batch is delivered, and readiness reports it', async () => {
    await taken.stop();
    const tenant = await subscribed();
    const poison = { key: 'res_1', value: Buffer.from([0xff]), headers: {} };
    const abort = new AbortController();
    const records = [poison, toRecord(newEvent(tenant))];
    const published = rms.bus.publish({ topic: 'rms.resource-events.v1', partition: 0, records }, abort.signal);
    await rms.settled(tenant, 1);
    await waitUntil(async () => !(await isServing()), { what: 'the service to become unready' });
    taken = rms.takeDeadLetters();
    await published;
    expect(taken.letters.map(({ value }) => [...value])).toEqual([[0xff]]);
    expect(await rms.list(tenant)).toHaveLength(1);
    await waitUntil(isServing, { what: 'the service to become ready' });
  });

  test('does not result from a database outage', async () => {
    const tenant = await subscribed();
    const { pool } = rms.database;
    const holder = await pool.connect();
    await holder.query('begin');
    await holder.query('lock table webhooks.feeds');
    const published = rms.publish(newEvent(tenant));
    const blocked = async () =>
      (
        await pool.query(
          "select pid from pg_stat_activity where application_name = 'webhooks' and wait_event_type = 'Lock' and datname = current_database()",
        )
      ).rows as { pid: number }[];
    const [first] = await waitUntil(async () => ((await blocked()).length > 0 ? blocked() : undefined), {
      what: 'fan-out to wait for the lock',
    });
    await pool.query('select pg_terminate_backend($1)', [first?.pid]);
    await waitUntil(async () => (await blocked()).some(({ pid }) => pid !== first?.pid), { what: 'another try' });
    await holder.query('rollback');
    holder.release();
    await published;
    await rms.settled(tenant, 1);
    expect(taken.letters).toEqual([]);
  });
});
