import { type TestDatabase, testPool } from './test-database.ts';

/**
 * Makes a database's clock movable: `now()` and `clock_timestamp()` of sessions that begin afterwards are found in a
 * schema that precedes pg_catalog. Returns a function that sets how far the clock is ahead of the real time (negative:
 * behind), also for open sessions. Column defaults and functions with a search_path of their own keep the real time.
 */
export async function movableClock({ url }: Pick<TestDatabase, 'url'>): Promise<(aheadMs: number) => Promise<void>> {
  const run = async (...statements: (string | [string, unknown[]])[]) => {
    const pool = testPool({ url, max: 1, applicationName: 'clock', log: { warn() {} } });
    try {
      for (const statement of statements) {
        if (typeof statement === 'string') await pool.query(statement);
        else await pool.query(...statement);
      }
    } finally {
      await pool.end();
    }
  };
  await run(`
    create schema ahead;
    create table ahead.shift (by interval not null);
    insert into ahead.shift values ('0');
    create function ahead.now() returns timestamptz language sql stable
      as $$ select pg_catalog.now() + by from ahead.shift $$;
    create function ahead.clock_timestamp() returns timestamptz language sql volatile
      as $$ select pg_catalog.clock_timestamp() + by from ahead.shift $$;
    grant usage on schema ahead to public;
    grant select on ahead.shift to public;
    do $$ begin
      execute format('alter database %I set search_path = ahead, pg_catalog, public', current_database());
    end $$`);
  return (aheadMs) => run(['update ahead.shift set by = make_interval(secs => $1)', [aheadMs / 1000]]);
}

/**
 * Runs housekeeping before, during and after a database clock jump by 40 days. Returns the results of `count`
 * after each run; they are equal if the jump deletes nothing.
 * @param setAhead the database's clock; see {@link movableClock}
 * @param housekeep runs every housekeeping task once
 */
export async function countAcrossJump<T>(
  setAhead: (aheadMs: number) => Promise<void>,
  housekeep: () => Promise<unknown>,
  count: () => Promise<T>,
): Promise<T[]> {
  const counts: T[] = [];
  for (const days of [0, 40, 0]) {
    await setAhead(days * 24 * 3_600_000);
    await housekeep();
    counts.push(await count());
  }
  return counts;
}
