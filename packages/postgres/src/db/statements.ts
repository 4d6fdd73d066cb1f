import type pg from 'pg';

export type Pool = pg.Pool;
export type PoolClient = pg.PoolClient;

/** A pool, or a client inside a transaction. First argument of every named query. */
export type Queryable = Pick<pg.Pool | pg.PoolClient, 'query'>;

/** Runs `work` in one transaction; commits when it returns and rolls back when it throws. */
export async function inTransaction<T>(pool: Pool, work: (tx: PoolClient) => Promise<T>): Promise<T> {
  const tx = await pool.connect();
  let broken: Error | undefined;
  try {
    await tx.query('begin');
    const result = await work(tx);
    await tx.query('commit');
    return result;
  } catch (error) {
    await tx.query('rollback').catch((rollbackError: Error) => {
      broken = rollbackError;
    });
    throw error;
  } finally {
    // A connection that failed to roll back is closed instead of being reused.
    tx.release(broken);
  }
}

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

/**
 * Compiles an SQL text with named parameters (`$name`). Returns a function that makes the statement with the values of
 * the parameters; it throws if a value is missing. Call this once per text: PostgreSQL receives the same text with
 * numbers each time, so its plan can be kept under `name`.
 * @param text may repeat a parameter
 */
export function statementWith<Values extends object>(name: string, text: string): (values: Values) => Statement {
  const names: string[] = [];
  const numbered = text.replaceAll(/\$([a-z]\w*)/gi, (_, parameter: string) => {
    if (!names.includes(parameter)) names.push(parameter);
    return `$${names.indexOf(parameter) + 1}`;
  });
  return (values) => ({
    name,
    text: numbered,
    values: names.map((parameter) => {
      const value = (values as Record<string, unknown>)[parameter];
      if (value === undefined) throw new Error(`statement ${name} has no value for $${parameter}`);
      return value;
    }),
  });
}
