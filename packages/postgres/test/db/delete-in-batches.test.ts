import { perSuite, testDatabase } from '@rms/testkit';
import { deleteInBatches } from '../../src/db/delete-in-batches.ts';
import type { Queryable } from '../../src/db/statements.ts';

describe('deleteInBatches', () => {
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    await database.pool.query('create table rows (number integer primary key)');
  });
  beforeEach(async () => {
    await database.pool.query('truncate rows');
    await database.pool.query('insert into rows select generate_series(1, 2500)');
  });
  const numbers = async () => {
    const { rows } = await database.pool.query<{ number: number }>('select number from rows order by number');
    return rows.map(({ number }) => number);
  };

  test('deletes all matching rows, a bounded number per statement', async () => {
    const deleted: (number | null)[] = [];
    const db = {
      async query(text: string, values: unknown[]) {
        const result = await database.pool.query(text, values);
        deleted.push(result.rowCount);
        return result;
      },
    } as unknown as Queryable;
    expect(await deleteInBatches(db, 'rows', { where: 'number <= $1', values: [2_300] })).toBe(2_300);
    expect(deleted).toEqual([1_000, 1_000, 300]);
    expect(await numbers()).toHaveLength(200);
  });

  test('skips rows that another transaction has locked', async () => {
    const other = await database.pool.connect();
    try {
      await other.query('begin');
      await other.query('select from rows where number = 7 for update');
      expect(await deleteInBatches(database.pool, 'rows', { where: 'number <= 10' })).toBe(9);
      expect((await numbers())[0]).toBe(7);
      await other.query('rollback');
    } finally {
      other.release(true);
    }
  });

  test('ends after a statement when its signal is aborted', async () => {
    expect(await deleteInBatches(database.pool, 'rows', { where: 'true' }, AbortSignal.abort())).toBe(0);
    expect(await numbers()).toHaveLength(2_500);
  });
});
