import { newId } from '@rms/base/ids';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { perTest, waitUntil } from '@rms/testkit';
import type { DeliveryCounter, EndCount } from '../src/delivery/ended-deliveries.ts';
import { createHousekeeping } from '../src/housekeeping.ts';
import { stepsOn } from './leases.ts';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks, webhooksDatabase } from './support.ts';

const dayMs = 24 * 3_600_000;

/** Returns noon (UTC) of a day, in milliseconds. */
function noonOf(offset: number): number {
  return (Math.floor(Date.now() / dayMs) + offset) * dayMs + dayMs / 2;
}

describe('housekeeping', () => {
  let rms: Webhooks | undefined;
  afterEach(() => rms?.stop());
  const database = perTest(webhooksDatabase);
  beforeEach(() =>
    database.pool.query(
      "select webhooks.make_partitions((now() at time zone 'UTC')::date - 45, (now() at time zone 'UTC')::date)",
    ),
  );

  /** Runs every task once. Returns the log lines. */
  const pass = async (
    retentionDays: number,
    metrics = createMetrics('webhooks'),
    counters: readonly DeliveryCounter[] = [],
  ) => {
    const logged: { task?: string; msg: string }[] = [];
    const destination = { write: (line: string) => void logged.push(JSON.parse(line)) };
    const log = createLogger({ name: 'webhooks', level: 'error', destination });
    const parts = {
      pool: database.pool,
      lanes: { mayHaveRows: true },
      endCounts: { mayHaveRows: true },
      log,
      metrics,
      eraseOnDelete: false,
      retentionDays,
      counters,
      reportRejected() {},
    };
    await createHousekeeping(parts).pass(new AbortController().signal);
    return logged;
  };
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
    database.breaks(['positions'], 'drops the days of its events');
    const tenant = newTenant();
    await stepsOn(database.pool).subscribe(tenant);
    const [expired, unlogged] = [await queue(tenant, -40, { tries: 3 }), await queue(tenant, -41)];
    const expiring = await queue(tenant, -30, { tries: 3 });
    const unattempted = await queue(tenant, -30);
    const redelivered = await queue(tenant, -30, { origin: 'redelivery' });
    const retried = await queue(tenant, -29, { tries: 3 });
    // Simulates an earlier release, which dropped days with queued deliveries.
    await database.pool.query(`drop table webhooks.events_${nameOf(-41)}, webhooks.delivery_log_${nameOf(-41)}`);

    expect(await pass(30)).toEqual([]);
    const counted: EndCount[] = [];
    await pass(30, createMetrics('webhooks'), [{ count() {}, countEnds: (ends) => void counted.push(...ends) }]);
    // Two were deleted with their day, and two failed.
    expect(counted.map(({ reason, deliveries }) => [reason, deliveries])).toEqual([
      ['expired', 2],
      ['expired', 2],
    ]);
    expect(await oldestDay()).toBe(nameOf(-30));
    const log = await stepsOn(database.pool).logged(tenant);
    expect(log.map(({ id }) => id)).not.toContain(expired);
    expect(log.map(({ id }) => id)).not.toContain(unlogged);
    const shown = new Map(log.map(({ id, status, endReason }) => [id, [status, endReason]]));
    expect(shown).toEqual(
      new Map([
        [expiring, ['failed', 'expired']],
        [unattempted, ['failed', 'expired']],
        [redelivered, ['pending', null]],
        [retried, ['retrying', null]],
      ]),
    );
  });

  test('ends the queued deliveries beyond a lowered retention', async () => {
    database.breaks(['positions'], 'drops the day of an event');
    const tenant = newTenant();
    await stepsOn(database.pool).subscribe(tenant);
    await queue(tenant, -20, { tries: 1 });
    const kept = await queue(tenant, -2, { tries: 1 });
    expect(await pass(8)).toEqual([]);
    expect(await oldestDay()).toBe(nameOf(-8));
    const log = await stepsOn(database.pool).logged(tenant);
    expect(log.map(({ id, status }) => [id, status])).toEqual([[kept, 'retrying']]);
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
    expect(await pass(30)).toEqual([]);
    const { rows } = await database.pool.query('select id from webhooks.replays order by id');
    expect(rows).toEqual([{ id: 'recent' }, { id: 'running' }]);
  });

  test('a failing task does not block the others; it is logged and counted by name', async () => {
    await database.pool.query('alter function webhooks.make_partitions rename to unavailable_partitions');
    const metrics = createMetrics('webhooks');
    expect(await pass(8, metrics)).toMatchObject([{ msg: 'housekeeping task failed', task: 'make_partitions' }]);
    expect(await oldestDay()).toBe(nameOf(-8));
    const { values } = (await metrics.getSingleMetric('rms_housekeeping_failures_total')?.get()) ?? {};
    expect(values).toContainEqual(expect.objectContaining({ labels: { task: 'make_partitions' }, value: 1 }));
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
    // A webhook with deliveries is removed a minute after they end.
    expect((await ids()).sort()).toEqual([own, kept].sort());
    const queued = async () => (await database.pool.query('select from webhooks.deliveries')).rowCount;
    await waitUntil(async () => (await queued()) === 0, { what: 'the deliveries to end' });
  });
});
