import { perSuite, testDatabase } from '@rms/testkit';
import { isolateRejected } from '../../src/db/index.ts';

describe('isolateRejected', () => {
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    await database.pool.query(`
      create table days (day integer not null, check (day <> 13)) partition by range (day);
      create table days_1 partition of days for values from (1) to (32)`);
  });
  beforeEach(() => database.pool.query('truncate days'));

  const insert = (days: readonly number[]) =>
    database.pool.query('insert into days select unnest($1::integer[])', [days]);

  test('writes all rows that PostgreSQL accepts, and returns the rejected rows', async () => {
    const days = [1, 2, 13, 3, 77, 4, 5];
    const rejected = await isolateRejected(days, insert);
    expect(rejected).toMatchObject([
      { row: 13, error: { constraint: 'days_day_check' } },
      { row: 77, error: { code: '23514' } },
    ]);
    const { rows } = await database.pool.query('select day from days order by day');
    expect(rows.map(({ day }) => day)).toEqual([1, 2, 3, 4, 5]);
  });

  test('does nothing without rows', async () => {
    expect(await isolateRejected([], () => Promise.reject(new Error('called')))).toEqual([]);
  });

  test.each([
    ['a lost connection', 'select pg_terminate_backend(pg_backend_pid())', /terminat/],
    ['an exceeded time limit', 'set statement_timeout = 1; select pg_sleep(9)', /statement timeout/],
    ['a missing table', 'insert into no_days values (1)', /does not exist/],
  ])('throws %s, because no row caused it', async (_, sql, message) => {
    let calls = 0;
    const write = async () => {
      calls += 1;
      const client = await database.pool.connect();
      await client.query(sql).finally(() => client.release(true));
    };
    await expect(isolateRejected([1, 2], write)).rejects.toThrow(message);
    expect(calls).toBe(1);
  });
});
