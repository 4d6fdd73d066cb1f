import { createPool, migrate, type Pool, roleName } from '@rms/db';
import { newId } from '@rms/ids';
import { type TestDatabase, testDatabase } from '@rms/testkit';
import { logPartitions } from '../src/log/partitions.ts';
import { migrations } from '../src/migrations.ts';
import { stepsOn } from './leases.ts';
import { newEvent, newTenant, startWebhooks } from './support.ts';

const dayMs = 24 * 3_600_000;
const today = "(now() at time zone 'UTC')::date";
const prefix = `rms_${newId('ws').slice(-8)}`;

/** The days that both tables have partitions for, oldest first. */
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
  let database: TestDatabase;
  let pool: Pool;
  beforeAll(async () => {
    database = await testDatabase([]);
    await migrate(database.pool, [migrations], { rolePrefix: prefix });
    const log = { warn() {} };
    pool = createPool({ url: database.url, max: 2, applicationName: 'test', role: roleName(prefix, 'webhooks'), log });
  });
  afterAll(async () => {
    await pool?.end();
    for (const service of ['auth', 'resources', 'webhooks'] as const) {
      await database?.pool.query(`drop owned by ${roleName(prefix, service)}`);
      await database?.pool.query(`drop role ${roleName(prefix, service)}`);
    }
    await database?.drop();
  });

  test('are made for the events that may come, and dropped by the day, by a role that owns no table', async () => {
    await logPartitions.make(pool);
    expect((await daysOf(pool)).slice(0, 9)).toEqual([-8, -7, -6, -5, -4, -3, -2, -1, 0].map(dayOf));
    expect(await daysOf(pool)).toContain(dayOf(7));
    expect(await logPartitions.make(pool)).toBe(0);
    await expect(pool.query('drop table webhooks.events')).rejects.toMatchObject({ code: '42501' });

    await database.pool.query(`select webhooks.make_partitions(${today} - 40, ${today} - 9)`);
    expect(await logPartitions.drop(pool, 30)).toBe(20);
    expect((await daysOf(pool))[0]).toBe(dayOf(-30));
    // Never those that an event on the bus could go into.
    await logPartitions.drop(pool, 1);
    expect((await daysOf(pool))[0]).toBe(dayOf(-8));
    expect(await logPartitions.drop(pool, 1)).toBe(0);
  });

  test('take what the role stores, at the borders of the days too', async () => {
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

  test('are there for every event that is taken', () => {
    const now = Date.now();
    for (const [days, there] of [
      [-30, false],
      [-8.1, false],
      [-7.9, true],
      [0, true],
      [6.9, true],
      [7.1, false],
    ] as const) {
      expect([days, logPartitions.has(now + days * dayMs, now)]).toEqual([days, there]);
    }
  });

  test('made by several at once are made once', async () => {
    const days = [`${today} + 20`, `${today} + 24`];
    const made = await Promise.all(
      Array.from({ length: 4 }, () =>
        database.pool.query<{ made: number }>(`select webhooks.make_partitions(${days.join()}) as made`),
      ),
    );
    expect(made.map(({ rows }) => rows[0]?.made).sort()).toEqual([0, 0, 0, 10]);
  });
});

test('an event that is too old, of the future, or has no proper id stops nothing', async () => {
  const rms = await startWebhooks();
  const tenant = newTenant();
  const ids = [newId('evt', Date.now() - 60 * dayMs), newId('evt', Date.now() + 60 * dayMs), 'evt_1', newId('res')];
  const good = newEvent(tenant);
  const { letters, stop } = rms.takeDeadLetters();
  await rms.publish(...ids.map((id) => ({ ...newEvent(tenant), id })), good);
  const { events } = await rms.feed.listEvents({ ...tenant, pageSize: 10 });
  expect(events.map(({ id }) => id)).toEqual([good.id]);
  expect(letters).toHaveLength(ids.length);
  await stop();
  await rms.stop();
});
