import type { Queryable } from './statements.ts';

/** Bounds a statement's duration, far below its timeout. */
const rowsPerStatement = 1_000;

/**
 * Deletes all rows of a table that match a condition, up to {@link rowsPerStatement} per statement. Returns their number.
 * However many rows have accumulated, each statement ends in time, so that a later call continues where this one failed
 * or was aborted. Skips rows that another transaction has locked.
 * @param where SQL condition that an index finds, and its parameters
 * @param order columns of the index, so that PostgreSQL uses it although many rows match
 */
export async function deleteInBatches(
  db: Queryable,
  table: string,
  {
    where,
    values = [],
    order,
  }: { readonly where: string; readonly values?: readonly unknown[]; readonly order?: string },
  signal?: AbortSignal,
): Promise<number> {
  const orderBy = order === undefined ? '' : `order by ${order}`;
  let total = 0;
  for (let deleted = rowsPerStatement; deleted === rowsPerStatement && !signal?.aborted; total += deleted) {
    const { rowCount } = await db.query(
      `delete from ${table} where ctid = any(array(
         select ctid from ${table} where ${where} ${orderBy} limit ${rowsPerStatement} for update skip locked))`,
      [...values],
    );
    deleted = rowCount ?? 0;
  }
  return total;
}
