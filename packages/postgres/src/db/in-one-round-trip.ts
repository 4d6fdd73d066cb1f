import type pg from 'pg';
import type { Pool } from './queryable.ts';

/** A statement with its values. */
export type Statement = Pick<pg.QueryConfig, 'name' | 'text' | 'values'>;

/**
 * Runs statements in one transaction and one round trip. All statements are sent before the first response arrives, so
 * no statement can depend on the result of another. Each statement sees the data committed before it began, as in
 * {@link inTransaction}. Returns the results. Throws the first error after the transaction is rolled back.
 */
export async function inOneRoundTrip(pool: Pool, statements: readonly Statement[]): Promise<pg.QueryResult[]> {
  const tx = await pool.connect();
  const responses = await Promise.allSettled([
    tx.query('begin'),
    ...statements.map((statement) => tx.query(statement)),
    // After an error, PostgreSQL treats the commit as a rollback.
    tx.query('commit'),
  ]);
  const failed = responses.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  // A connection that is still in the transaction, or lost, is closed instead of being reused.
  tx.release(tx.getTransactionStatus() === 'I' ? undefined : true);
  if (failed) throw failed.reason;
  return responses.slice(1, -1).map((response) => (response as PromiseFulfilledResult<pg.QueryResult>).value);
}
