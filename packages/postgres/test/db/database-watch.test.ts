import { perTest, testDatabase, waitUntil } from '@rms/testkit';
import { createDatabaseWatch, createPool, type Pool } from '../../src/db/index.ts';

const queues = {
  letters: 'select from letters order by id',
  parcels: 'select from parcels where due_at <= now() order by due_at',
};

describe('createDatabaseWatch', () => {
  let pools: Pool[] = [];
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    pools = [];
  });
  const database = perTest(() => testDatabase([]));
  beforeEach(async () => {
    await database.pool.query('create table letters (id integer); create table parcels (due_at timestamptz)');
  });
  const open = () => {
    const pool = createPool({ url: database.url, max: 1, applicationName: 'watch', log: { warn() {} } });
    pools.push(pool);
    return pool;
  };

  test('reads the clock and which queues have rows', async () => {
    await database.pool.query("insert into parcels values (now()), (now() + interval '1 hour')");
    const watch = createDatabaseWatch(open(), queues);
    await watch.start();
    expect(watch.queues.letters.mayHaveRows).toBe(false);
    expect(watch.queues.parcels.mayHaveRows).toBe(true);
    const { rows } = await database.pool.query<{ ms: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
    );
    expect(Math.abs(watch.clock.nowMs() - (rows[0]?.ms ?? 0))).toBeLessThan(1_000);
    expect(watch.time.nowMs()).toBeLessThanOrEqual(watch.clock.nowMs());
    watch.check();
  });

  test('a reading wakes the workers of queues that have rows of other instances', async () => {
    const watch = createDatabaseWatch(open(), queues);
    await watch.start();
    const stop = new AbortController();
    const running = watch.worker.run(stop.signal);
    const woken = watch.queues.letters.sleep(1, stop.signal);
    await database.pool.query('insert into letters values (1)');
    await woken;
    expect(watch.queues.letters.mayHaveRows).toBe(true);
    await database.pool.query('delete from letters');
    await waitUntil(() => !watch.queues.letters.mayHaveRows, { what: 'a reading that finds no rows' });
    stop.abort();
    await running;
  });

  test('the check fails while the database is read-only', async () => {
    const pool = open();
    const watch = createDatabaseWatch(pool, {});
    const setReadOnly = async (value: 'on' | 'off') => {
      await database.pool.query(
        `alter database ${new URL(database.url).pathname.slice(1)} set default_transaction_read_only = ${value}`,
      );
      // Sessions read the setting when they start.
      await database.pool.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'watch'",
      );
    };
    await setReadOnly('on');
    await watch.start();
    expect(watch.check).toThrow(expect.objectContaining({ code: 'service_unavailable' }));
    expect(watch.time.nowMs()).toBeLessThanOrEqual(watch.clock.nowMs());
    const stop = new AbortController();
    const running = watch.worker.run(stop.signal);
    await setReadOnly('off');
    const isWritable = () => {
      watch.check();
      return true;
    };
    await waitUntil(isWritable, { what: 'a writable session' });
    stop.abort();
    await running;
  });

  test('without a database, the check fails, the clock rejects, and the time is that of this machine', async () => {
    const pool = createPool({
      url: 'postgres://127.0.0.1:1/none',
      max: 1,
      applicationName: 'watch',
      log: { warn() {} },
    });
    pools.push(pool);
    const watch = createDatabaseWatch(pool, queues);
    await watch.start();
    expect(watch.check).toThrow(/ECONNREFUSED/);
    expect(watch.queues.letters.mayHaveRows).toBe(true);
    expect(watch.clock.nowMs).toThrow('has not been read');
    await expect(watch.clock.ready()).rejects.toThrow(/ECONNREFUSED/);
    await expect(watch.time.fresh()).rejects.toThrow(/ECONNREFUSED/);
    expect(Math.abs(watch.time.nowMs() - Date.now())).toBeLessThan(1_000);
  });
});
