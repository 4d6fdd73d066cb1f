import { newId } from '@rms/base/ids';
import { createPool, isTimeout, migrate, type Pool, roleName } from '@rms/postgres/db';
import { disposable, perSuite, startReceiver, testDatabase, waitUntil } from '@rms/testkit';
import { recordAttempts } from '../../src/engine/record/recorder.ts';
import { fanOutDeferred } from '../../src/event/deferred-fan-out.ts';
import { fanOut } from '../../src/event/fan-out-queries.ts';
import { logPartitions } from '../../src/event/partitions.ts';
import { migrations } from '../../src/migrations.ts';
import { redeliver } from '../../src/rpc/redeliver-delivery.ts';
import { arrivalOf, responded, stepsOn, unknown } from '../leases.ts';
import { newEvent, newTenant, startWebhooks } from '../support.ts';

const dayMs = 24 * 3_600_000;
const today = "(now() at time zone 'UTC')::date";
const prefix = `rms_${newId('ws').slice(-8)}`;

/** Returns the days with partitions of both tables, oldest first. */
async function daysOf(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ day: string; tables: string }>(
    `select right(c.relname, 8) as day, count(*) as tables from pg_inherits join pg_class as c on c.oid = inhrelid
      where inhparent in ('webhooks.events'::regclass, 'webhooks.delivery_log'::regclass)
      group by 1 order by 1`,
  );
  expect(rows.filter(({ tables }) => tables !== '2')).toEqual([]);
  return rows.map(({ day }) => day);
}

function dayOf(offset: number): string {
  return new Date(Date.now() + offset * dayMs).toISOString().slice(0, 10).replaceAll('-', '');
}

describe('partitions', () => {
  let pool: Pool;
  afterAll(async () => {
    await pool?.end();
    for (const service of ['auth', 'resources', 'webhooks'] as const) {
      await database?.pool.query(`drop owned by ${roleName(prefix, service)}`);
      await database?.pool.query(`drop role ${roleName(prefix, service)}`);
    }
  });
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    await migrate(database.pool, [migrations], { rolePrefix: prefix });
    const log = { warn() {} };
    pool = createPool({ url: database.url, max: 2, applicationName: 'test', role: roleName(prefix, 'webhooks'), log });
  });
  test('of a retention that does not fit the lock table of PostgreSQL are refused', async () => {
    const check = (retentionDays: number) =>
      logPartitions.checkLocks(pool, { setting: 'LOG_RETENTION_DAYS', retentionDays, connections: 15 });
    await check(30);
    await expect(check(3_650)).rejects.toThrow(
      /^LOG_RETENTION_DAYS: 3650 daily partitions need max_locks_per_transaction/,
    );
  });

  test('are created and dropped per day by a role that owns no tables', async () => {
    await logPartitions.make(pool);
    expect((await daysOf(pool)).slice(0, 9)).toEqual([-8, -7, -6, -5, -4, -3, -2, -1, 0].map(dayOf));
    expect(await daysOf(pool)).toContain(dayOf(7));
    expect(await logPartitions.make(pool)).toBe(0);
    await expect(pool.query('drop table webhooks.events')).rejects.toMatchObject({ code: '42501' });

    await database.pool.query(`select webhooks.make_partitions(${today} - 40, ${today} - 9)`);
    expect(await logPartitions.drop(pool, 30)).toBe(20);
    expect((await daysOf(pool))[0]).toBe(dayOf(-30));
    // Partitions that an event on the bus may still need are kept.
    await logPartitions.drop(pool, 1);
    expect((await daysOf(pool))[0]).toBe(dayOf(-8));
    expect(await logPartitions.drop(pool, 1)).toBe(0);
  });

  test('accept the rows that the role stores, also at the boundaries of days', async () => {
    const tenant = newTenant();
    const steps = stepsOn(pool);
    await steps.subscribe(tenant);
    const midnightMs = Math.floor(Date.now() / dayMs) * dayMs;
    const times = [-8, -7, -1, 0, 1, 7].flatMap((day) => [
      midnightMs + day * dayMs,
      midnightMs + (day + 1) * dayMs - 1,
    ]);
    const events = times.map((atMs) => ({ ...newEvent(tenant), id: newId('evt', atMs) }));
    expect(await steps.store(events, 100)).toHaveLength(events.length);
    expect(await steps.store(events, 100)).toEqual([]);
    expect(await steps.logged(tenant)).toHaveLength(events.length);
  });

  test('exist for every accepted event', () => {
    const now = Date.now();
    for (const [days, there] of [
      [-30.1, false],
      [-29.9, true],
      [0, true],
      [6.9, true],
      [7.1, false],
    ] as const) {
      expect([days, logPartitions.accepts(now + days * dayMs, now, 30)]).toEqual([days, there]);
    }
  });

  test('are created once if several sessions create them concurrently', async () => {
    const days = [`${today} + 20`, `${today} + 24`];
    const created = await Promise.all(
      Array.from({ length: 4 }, () =>
        database.pool.query<{ created: number }>(`select webhooks.make_partitions(${days.join()}) as created`),
      ),
    );
    expect(created.map(({ rows }) => rows[0]?.created).sort()).toEqual([0, 0, 0, 10]);
  });
});

/** Returns noon (UTC) of a day, in milliseconds. */
function noonOf(offset: number): number {
  return (Math.floor(Date.now() / dayMs) + offset) * dayMs + dayMs / 2;
}

test('a day is kept while one of its deliveries is queued, also after a redelivery from the log', async () => {
  await using database = disposable(await testDatabase([migrations]));
  database.breaks(['positions'], 'drops the days of its events');
  const { pool } = database;
  const tenant = newTenant();
  const steps = stepsOn(pool);
  await steps.subscribe(tenant);
  await pool.query(`select webhooks.make_partitions(${today} - 42, ${today} - 9)`);
  const events = [-41, -40].map((day) => ({ ...newEvent(tenant), id: newId('evt', noonOf(day)) }));
  const [first, second] = (await steps.store(events, 10)).sort((a, b) => (a.id < b.id ? -1 : 1));
  // A day without queued deliveries is dropped, even if later days are kept.
  await logPartitions.drop(pool, 30);
  expect((await daysOf(pool)).slice(0, 3)).toEqual([-41, -40, -30].map(dayOf));
  await recordAttempts(pool, [responded(first, 200), responded(second, 410)]);
  await redeliver(pool, steps.scopeOf(tenant), second?.id ?? '');
  await logPartitions.drop(pool, 30);
  expect((await daysOf(pool)).slice(0, 2)).toEqual([-40, -30].map(dayOf));
  const [again] = await steps.claim();
  await recordAttempts(pool, [responded(again, 200)]);
  expect(await logPartitions.drop(pool, 30)).toBe(2);
});

test('a day is kept while one of its events is deferred, also until its fan-out is complete', async () => {
  await using database = disposable(await testDatabase([migrations]));
  database.breaks(['positions'], 'drops the days of its events');
  const { pool } = database;
  const tenant = newTenant();
  const steps = stepsOn(pool);
  await steps.subscribe(tenant);
  await pool.query(`select webhooks.make_partitions(${today} - 41, ${today} - 9)`);
  const event = { ...newEvent(tenant), id: newId('evt', noonOf(-40)) };
  await fanOut(pool, [arrivalOf(event)], { freeCapacity: { ...unknown, total: 0 }, deliveries: 0 });
  await logPartitions.drop(pool, 30);
  expect((await daysOf(pool)).slice(0, 2)).toEqual([-40, -30].map(dayOf));
  const step = await fanOutDeferred(pool, { ...tenant, environment: 'live' }, () => ({ ...unknown, total: 1 }));
  await logPartitions.drop(pool, 30);
  expect((await daysOf(pool))[0]).toBe(dayOf(-40));
  await recordAttempts(pool, [responded(step?.jobs[0], 200)]);
  expect(await logPartitions.drop(pool, 30)).toBe(2);
});

test('a day is kept if one of its deliveries is redelivered while it is being dropped', async () => {
  const database = await testDatabase([migrations]);
  database.breaks(['positions'], 'drops the days of its events');
  const { pool } = database;
  const redelivering = await pool.connect();
  // PostgreSQL reports an error before it releases the statement's locks. The next statement of the same session
  // waits for that, and one of another session does not.
  const dropper = await pool.connect();
  try {
    const tenant = newTenant();
    const steps = stepsOn(pool);
    await steps.subscribe(tenant);
    await pool.query(`select webhooks.make_partitions(${today} - 40, ${today} - 40)`);
    const [job] = await steps.store([{ ...newEvent(tenant), id: newId('evt', noonOf(-40)) }], 1);
    await recordAttempts(pool, [responded(job, 410)]);
    await redelivering.query('begin');
    await redeliver(redelivering, steps.scopeOf(tenant), job?.id ?? '');
    const dropping = logPartitions.drop(dropper, 30).catch(() => 0);
    const sleeping = `select from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()`;
    await waitUntil(async () => (await pool.query(sleeping)).rowCount, { what: 'the drop to wait for the redelivery' });
    await redelivering.query('commit');
    expect(await dropping).toBe(0);
    expect((await daysOf(pool))[0]).toBe(dayOf(-40));
    await recordAttempts(pool, [responded((await steps.claim())[0], 200)]);
    expect(await logPartitions.drop(dropper, 30)).toBe(2);
  } finally {
    redelivering.release(true);
    dropper.release(true);
    await database.drop();
  }
});

test.each([
  ['the tables', ['events', 'delivery_log']],
  ['the partitions of the day to be dropped', [`events_${dayOf(-33)}`, `delivery_log_${dayOf(-33)}`]],
])(
  'a long read transaction on %s at midnight does not delay events, deliveries or new partitions',
  async (_, tables) => {
    const rms = await startWebhooks();
    const receiver = await startReceiver();
    const { pool } = rms.database;
    const reader = await pool.connect();
    try {
      const tenant = newTenant();
      await rms.subscribe(tenant, receiver.url);
      await pool.query(`select webhooks.make_partitions(${today} - 33, ${today} - 31)`);
      await reader.query('begin');
      for (const table of tables) await reader.query(`select from webhooks.${table}`);

      const { rows } = await pool.query(`select webhooks.make_partitions(${today} + 8, ${today} + 8) as created`);
      expect(rows).toEqual([{ created: 2 }]);
      const refused = await logPartitions.drop(pool, 30).catch((error: unknown) => error);
      expect(isTimeout(refused)).toBe(true);
      let ended = false;
      const dropping = (async () => {
        while (!ended) await logPartitions.drop(pool, 30).catch(() => {});
      })();
      for (let count = 1; count <= 5; count += 1) {
        await rms.publish(newEvent(tenant));
        await rms.settled(tenant, count);
        // A waiting lock would block all later statements. While the reader is active, none is requested.
        const waiting = `select from pg_locks where mode = 'AccessExclusiveLock' and not granted
                            and database = (select oid from pg_database where datname = current_database())`;
        expect((await pool.query(waiting)).rowCount).toBe(0);
      }
      ended = true;
      await dropping;
      expect((await daysOf(pool))[0]).toBe(dayOf(-33));

      await reader.query('commit');
      const dropped = waitUntil(
        async () => {
          await logPartitions.drop(pool, 30).catch(() => {});
          return (await daysOf(pool))[0] !== dayOf(-33);
        },
        { what: 'the old days to be dropped' },
      );
      for (let count = 6; count <= 10; count += 1) {
        await rms.publish(newEvent(tenant));
        await rms.settled(tenant, count);
      }
      await dropped;
    } finally {
      reader.release(true);
      await receiver.close();
      await rms.stop();
    }
  },
);

test('an event that is too old, in the future, or has an invalid ID does not block other events', async () => {
  const rms = await startWebhooks();
  const tenant = newTenant();
  const ids = [newId('evt', Date.now() - 60 * dayMs), newId('evt', Date.now() + 60 * dayMs), 'evt_1', newId('res')];
  const good = newEvent(tenant);
  await rms.publish(...ids.map((id) => ({ ...newEvent(tenant), id })), good);
  const { events } = await rms.feed.listEvents({ ...tenant, pageSize: 10 });
  expect(events.map(({ id }) => id)).toEqual([good.id]);
  expect(await rms.readDeadLetters(tenant.workspaceId)).toHaveLength(ids.length);
  await rms.stop();
});
