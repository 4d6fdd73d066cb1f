import { newId } from '@rms/ids';
import { createLogger } from '@rms/logging';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type TestDatabase, waitUntil } from '@rms/testkit';
import { stepsOn } from './leases.ts';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks, webhooksDatabase } from './support.ts';

const dayMs = 24 * 3_600_000;

/** Returns noon (UTC) of a day, in milliseconds. */
function noonOf(offset: number): number {
  return (Math.floor(Date.now() / dayMs) + offset) * dayMs + dayMs / 2;
}

describe('housekeeping', () => {
  let database: TestDatabase;
  let rms: Webhooks | undefined;
  beforeEach(async () => {
    database = await webhooksDatabase();
    await database.pool.query(
      "select webhooks.make_partitions((now() at time zone 'UTC')::date - 45, (now() at time zone 'UTC')::date)",
    );
  });
  afterEach(async () => {
    await rms?.stop();
    await database.drop();
  });

  /** Queues a delivery of an event of that day. It is due in a week. */
  const queue = async (tenant: Tenant, day: number, { tries = 0, origin = 'event' } = {}) => {
    const event = { ...newEvent(tenant), id: newId('evt', noonOf(day)) };
    await stepsOn(database.pool).store([event]);
    const { rows } = await database.pool.query<{ id: string }>(
      `update webhooks.deliveries set tries = $2, origin = $3, due_at = now() + interval '7 days'
        where event_id = $1 returning id`,
      [event.id, tries, origin],
    );
    return rows[0]?.id ?? '';
  };
  const oldestDay = async () => {
    const { rows } = await database.pool.query<{ day: string }>(
      `select min(right(relname, 8)) as day from pg_inherits join pg_class on oid = inhrelid
        where inhparent = 'webhooks.delivery_log'::regclass`,
    );
    return rows[0]?.day;
  };
  const nameOf = (day: number) => new Date(noonOf(day)).toISOString().slice(0, 10).replaceAll('-', '');

  test('ends the deliveries that reach the retention, then drops their days', async () => {
    const tenant = newTenant();
    await stepsOn(database.pool).subscribe(tenant);
    const [expired, unlogged] = [await queue(tenant, -40, { tries: 3 }), await queue(tenant, -41)];
    const expiring = await queue(tenant, -30, { tries: 3 });
    const unattempted = await queue(tenant, -30);
    const redelivered = await queue(tenant, -30, { origin: 'redelivery' });
    const retried = await queue(tenant, -29, { tries: 3 });
    // Simulates an earlier release, which dropped days with queued deliveries.
    await database.pool.query(`drop table webhooks.events_${nameOf(-41)}, webhooks.delivery_log_${nameOf(-41)}`);

    rms = await startWebhooks({ retentionDays: 30 }, { given: database });
    await waitUntil(async () => (await oldestDay()) === nameOf(-30), { what: 'the old days to be dropped' });
    const log = await rms.list(tenant);
    expect(log.map(({ id }) => id)).not.toContain(expired);
    expect(log.map(({ id }) => id)).not.toContain(unlogged);
    const shown = new Map(log.map(({ id, status, endReason }) => [id, [status, endReason]]));
    expect(shown).toEqual(
      new Map([
        [expiring, [DeliveryStatus.FAILED, 'expired']],
        [unattempted, [DeliveryStatus.FAILED, 'expired']],
        [redelivered, [DeliveryStatus.PENDING, '']],
        [retried, [DeliveryStatus.RETRYING, '']],
      ]),
    );
  });

  test('ends the queued deliveries beyond a lowered retention', async () => {
    const tenant = newTenant();
    await stepsOn(database.pool).subscribe(tenant);
    await queue(tenant, -20, { tries: 1 });
    const kept = await queue(tenant, -2, { tries: 1 });
    rms = await startWebhooks({ retentionDays: 8 }, { given: database });
    await waitUntil(async () => (await oldestDay()) === nameOf(-8), { what: 'the old days to be dropped' });
    expect((await rms.list(tenant)).map(({ id, status }) => [id, status])).toEqual([[kept, DeliveryStatus.RETRYING]]);
  });

  test('deletes replays that have ended before the retention', async () => {
    const { workspaceId } = newTenant();
    await database.pool.query(
      `insert into webhooks.replays (workspace_id, environment, id, webhook_id, statuses, since, until, per_second,
                                     status, total, created_by, created_at)
       select $1, 'live', id, 'wh_none', '{}', now(), now(), 1, status, 0, '', now() - days * interval '1 day'
         from (values ('old', 'done', 31), ('recent', 'done', 29), ('running', 'running', 31)) as r (id, status, days)`,
      [workspaceId],
    );
    await database.pool.query("update webhooks.replays set next_at = now() + interval '1 day'");
    rms = await startWebhooks({ retentionDays: 30 }, { given: database });
    const remaining = async () => {
      const { rows } = await database.pool.query<{ id: string }>('select id from webhooks.replays order by id');
      return rows.map(({ id }) => id);
    };
    await waitUntil(async () => (await remaining()).length === 2, { what: 'the old replay to be deleted' });
    expect(await remaining()).toEqual(['recent', 'running']);
  });

  test('a failing task does not block the others; it is logged and counted by name', async () => {
    await database.pool.query('alter function webhooks.make_partitions rename to unavailable_partitions');
    const logged: string[] = [];
    const destination = { write: (line: string) => void logged.push(line) };
    const log = createLogger({ name: 'webhooks', level: 'error', destination });
    rms = await startWebhooks({ retentionDays: 8 }, { given: database, log });
    await waitUntil(async () => (await oldestDay()) === nameOf(-8), { what: 'the old days to be dropped' });
    const failed = logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'housekeeping task failed');
    // Dropping a partition also fails if it cannot get its lock within 50 ms.
    expect(failed.map(({ task }) => task)).toContain('make_partitions');
    const { values } = (await rms.metrics.getSingleMetric('rms_housekeeping_failures_total')?.get()) ?? {};
    expect(values).toContainEqual(
      expect.objectContaining({
        labels: { task: 'make_partitions' },
        value: failed.filter(({ task }) => task === 'make_partitions').length,
      }),
    );
    expect(values).toContainEqual(expect.objectContaining({ labels: { task: 'idempotency_keys' }, value: 0 }));
  });

  test('removes the schedules of webhooks that no longer exist, and ends their deliveries', async () => {
    const tenant = newTenant();
    const own = await stepsOn(database.pool).subscribe(tenant);
    await stepsOn(database.pool).store([newEvent(tenant)]);
    await database.pool.query('update webhooks.deliveries set due_at = null');
    const { rowCount } = await database.pool.query('delete from webhooks.webhooks');
    expect(rowCount).toBe(1);
    const kept = await stepsOn(database.pool).subscribe(tenant);
    await database.pool.query(
      `update webhooks.endpoints set next_due_at = null;
       insert into webhooks.endpoints (webhook_id, workspace_id, environment)
       select 'wh_old' || n, '${tenant.workspaceId}', 'live' from generate_series(1, 1500) as n;`,
    );
    await database.pool.query(
      'insert into webhooks.endpoints (webhook_id, workspace_id, environment) values ($1, $2, $3)',
      [kept, tenant.workspaceId, 'live'],
    );
    rms = await startWebhooks({}, { given: database });
    const ids = async () => {
      const { rows } = await database.pool.query<{ webhook_id: string }>('select webhook_id from webhooks.endpoints');
      return rows.map(({ webhook_id }) => webhook_id);
    };
    await waitUntil(async () => (await ids()).length === 2, { what: 'the schedules without deliveries to be removed' });
    // A webhook with deliveries is removed a minute after they have ended.
    expect((await ids()).sort()).toEqual([own, kept].sort());
    const queued = async () => (await database.pool.query('select from webhooks.deliveries')).rowCount;
    await waitUntil(async () => (await queued()) === 0, { what: 'the deliveries to end' });
  });
});
