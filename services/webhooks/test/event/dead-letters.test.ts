import { newId } from '@rms/base/ids';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { createLogger } from '@rms/runtime/logging';
import { Counter } from '@rms/runtime/metrics';
import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { deleteExpiredLetters } from '../../src/event/dead-letter-queries.ts';
import { createDeadLetters } from '../../src/event/dead-letters.ts';
import { newEvent, newEvents, startWebhooks, toRecord } from '../support.ts';

const dayMs = 24 * 3_600_000;

describe('a record that cannot be processed', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startReceiver);
  beforeEach(() => rms.database.pool.query('truncate webhooks.dead_letters'));

  const subscribed = () => rms.newSubscriber(receiver.url);
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
    const letters = await rms.readDeadLetters();
    expect(letters).toMatchObject([
      {
        ...{ key: poison.key, headers: poison.headers, reason: 'unreadable', parked: false },
        ...{ topic: 'rms.resource-events.v1', partition: 0, offset: 1n, error: expect.stringMatching(/./) },
      },
    ]);
    expect(Buffer.from(letters[0]?.value ?? [])).toEqual(poison.value);
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
    const letters = [...(await rms.readDeadLetters()), ...(await rms.readDeadLetters(tenant.workspaceId))];
    expect(letters.map((letter) => letter.reason)).toEqual([reason]);
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
    expect(await rms.readDeadLetters(tenant.workspaceId)).toEqual([]);
  });

  test('is isolated if PostgreSQL rejects its content, and all other records are delivered once', async () => {
    const tenant = await subscribed();
    const events = newEvents(tenant, 60);
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
    const letters = await rms.readDeadLetters(tenant.workspaceId);
    expect(letters.map(({ key, reason }) => [key, reason])).toEqual([
      [nul.resourceId, 'refused'],
      [endless.resourceId, 'refused'],
    ]);
    expect(letters.map(({ value }) => Buffer.from(value))).toEqual(
      [nul, endless].map((event) => Buffer.from(toRecord(event).value)),
    );
    expect((await rms.feed.listEvents({ ...tenant, pageSize: 1 })).newestPosition).toBe(60n);
  });

  test('is redelivered until it can be kept; the rest of its batch is delivered, and readiness reports it', async () => {
    const tenant = await subscribed();
    const { pool } = rms.database;
    await pool.query(
      `create function webhooks.reject_letter() returns trigger language plpgsql as $$
       begin raise exception 'no space left' using errcode = '53100'; end $$;
       create trigger reject_letter before insert on webhooks.dead_letters
         for each row execute function webhooks.reject_letter();`,
    );
    const poison = { key: 'res_1', value: Buffer.from([0xff]), headers: {} };
    const published = rms.publishRecords(poison, toRecord(newEvent(tenant)));
    await rms.settled(tenant, 1);
    await waitUntil(async () => !(await isServing()), { what: 'the service to become unready' });
    await pool.query('drop function webhooks.reject_letter cascade');
    await published;
    expect((await rms.readDeadLetters()).map(({ value }) => [...value])).toEqual([[0xff]]);
    expect(await rms.list(tenant)).toHaveLength(1);
    await waitUntil(isServing, { what: 'the service to become ready' });
  });

  test('is not kept, and its partition waits, while the dead letters have their maximum size', async () => {
    const keep = createDeadLetters({
      ...{ pool: rms.database.pool, topic: 'topic', maxBytes: 1, log: createLogger({ name: 'test', level: 'silent' }) },
      metrics: { deadLetters: new Counter({ name: 'test', help: 'test', labelNames: ['reason'], registers: [] }) },
    });
    const record = { key: '', value: Buffer.from([0xff]), headers: {}, partition: 0, offset: '0' };
    await expect(keep([{ record, reason: 'unreadable', detail: '' }], [])).rejects.toThrow('of at most 1 bytes');
    expect(await rms.readDeadLetters()).toEqual([]);
  });

  test('is kept once, however often it arrives, unchanged even if PostgreSQL has no text like it', async () => {
    const tenant = await subscribed();
    const poison = { key: 'a\0b', value: Buffer.from([0, 0xff, 0x80]), headers: { 'x-\0': '\0\ud800"' } };
    await rms.publishRecords(poison, poison, toRecord(newEvent(tenant)));
    await rms.publishRecords(poison);
    const letters = await rms.readDeadLetters();
    expect(letters).toMatchObject([{ key: poison.key, headers: { 'x-\0': '\0\ufffd"' } }]);
    expect(Buffer.from(letters[0]?.value ?? [])).toEqual(poison.value);
  });

  test('is deleted when the retention has ended', async () => {
    const { pool } = rms.database;
    await rms.publishRecords(...[1, 2].map((byte) => ({ key: '', value: Buffer.from([0xff, byte]), headers: {} })));
    await pool.query("update webhooks.dead_letters set stored_at = now() - interval '31 days' where value = '\\xff01'");
    const { signal } = new AbortController();
    const expire = () => deleteExpiredLetters(pool, 30, signal);
    await waitUntil(async () => (await expire()) === 1, { what: 'the agreed clock, and the deletion' });
    expect((await rms.readDeadLetters()).map(({ value }) => [...value])).toEqual([[0xff, 2]]);
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
    expect(await rms.readDeadLetters(tenant.workspaceId)).toEqual([]);
  });
});
