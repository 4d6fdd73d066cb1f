import { perSuite, testDatabase } from '@rms/testkit';
import { inTransaction } from '../../src/db/index.ts';

describe('inTransaction', () => {
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    await database.pool.query('create table things (id int primary key)');
  });

  const count = async () =>
    (await database.pool.query<{ n: number }>('select count(*)::int as n from things')).rows[0]?.n;

  test('commits, and returns the result of the work', async () => {
    expect(
      await inTransaction(database.pool, async (tx) => (await tx.query('insert into things values (1)')).rowCount),
    ).toBe(1);
    expect(await count()).toBe(1);
  });

  test('rolls back on failure, and throws the same error', async () => {
    const failure = new Error('no');
    const work = inTransaction(database.pool, async (tx) => {
      await tx.query('insert into things values (2)');
      throw failure;
    });
    await expect(work).rejects.toBe(failure);
    expect(await count()).toBe(1);
  });

  test('does not reuse a broken connection', async () => {
    const work = inTransaction(database.pool, async (tx) => {
      await tx.query('select pg_terminate_backend(pg_backend_pid())');
    });
    await expect(work).rejects.toThrow();
    expect(await count()).toBe(1);
    expect(database.pool.waitingCount).toBe(0);
  });
});
