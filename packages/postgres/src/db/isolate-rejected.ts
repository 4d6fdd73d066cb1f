import { isRowError } from './pg-errors.ts';

/** A row that PostgreSQL rejects even if it is alone in its statement. */
export interface Rejected<Row> {
  readonly row: Row;
  readonly error: unknown;
}

/**
 * Calls `write` with all rows. If PostgreSQL rejects the statement because of a row, bisects the rows, so that all
 * other rows are written. Returns the rejected rows. Other errors, such as an outage, are thrown; some rows may have
 * been written by then.
 */
export async function isolateRejected<Row>(
  rows: readonly Row[],
  write: (rows: readonly Row[]) => Promise<unknown>,
): Promise<Rejected<Row>[]> {
  const [first] = rows;
  if (first === undefined) return [];
  try {
    await write(rows);
    return [];
  } catch (error) {
    if (!isRowError(error)) throw error;
    if (rows.length === 1) return [{ row: first, error }];
    const half = Math.ceil(rows.length / 2);
    const rejected = await isolateRejected(rows.slice(0, half), write);
    return [...rejected, ...(await isolateRejected(rows.slice(half), write))];
  }
}
