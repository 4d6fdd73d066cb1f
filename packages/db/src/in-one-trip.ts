import type pg from 'pg';
import type { Pool } from './queryable.ts';

/** A statement with its values. */
export type Statement = Pick<pg.QueryConfig, 'name' | 'text' | 'values'>;

/**
 * Runs statements in one transaction and one round trip: all are sent before the first is answered, so that none can need
 * what another one answers. Each sees what was committed before it began, as in {@link inTransaction}. Answers with their
 * results; throws the first error, and then none of them has happened.
 */
export async function inOneTrip(pool: Pool, statements: readonly Statement[]): Promise<pg.QueryResult[]> {
  const tx = await pool.connect();
  const answers = await Promise.allSettled([
    tx.query('begin'),
    ...statements.map((statement) => tx.query(statement)),
    // After an error PostgreSQL takes it for a rollback.
    tx.query('commit'),
  ]);
  const failed = answers.find(({ status }) => status === 'rejected') as PromiseRejectedResult | undefined;
  // A connection that is in the transaction still, or gone, is closed, not reused.
  tx.release(tx.getTransactionStatus() === 'I' ? undefined : true);
  if (failed) throw failed.reason;
  return answers.slice(1, -1).map((answer) => (answer as PromiseFulfilledResult<pg.QueryResult>).value);
}
