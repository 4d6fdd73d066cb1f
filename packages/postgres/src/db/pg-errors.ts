import { type ErrorCode, RmsError } from '@rms/base/errors';
import type { DatabaseError } from 'pg';

/** Maps names of constraints to the public errors that their violation causes. */
export type ConstraintErrors = Readonly<Record<string, { code: ErrorCode; message?: string }>>;

/** Errors of Node's network code and of pg for a server that is unreachable or a connection that is lost. */
const lostConnection = new RegExp(
  [
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
    // The Unix socket of a server that is stopped.
    'connect ENOENT',
    ...['Connection terminated', 'not queryable', 'timeout exceeded when trying to connect', 'calling end on the pool'],
  ].join('|'),
);

/** Translates any error of a query into an RmsError. The only place that translates PostgreSQL errors. */
export function translatePgError(error: unknown, constraints: ConstraintErrors = {}): RmsError {
  if (error instanceof RmsError) return error;
  const { code = '', constraint, message = '' } = (error ?? {}) as Partial<DatabaseError>;
  if (constraint !== undefined && constraints[constraint]) {
    const { code: publicCode, ...options } = constraints[constraint];
    return new RmsError(publicCode, { ...options, cause: error });
  }
  return new RmsError(codeOf(code, message), { cause: error });
}

/**
 * Returns whether PostgreSQL rejected a statement because of its data, so that a retry would fail again: text or
 * numbers that it cannot store (22…), a violated constraint (23…), a size limit (54…). Two errors of these classes do
 * not count. A row without a partition violates a constraint without a name (23514), and the partition may still be
 * created. A missing value (23502) means that the schema is unexpected.
 */
export function isRefusal(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as Partial<DatabaseError>;
  if (typeof code !== 'string' || !/^(22|23|54)[0-9A-Z]{3}$/.test(code)) return false;
  return code !== '23502' && (code !== '23514' || constraint !== undefined);
}

/**
 * Returns whether one row may have caused a statement's failure: PostgreSQL rejected the statement, and neither an
 * outage, nor a lock, nor a schema or privilege that differs from the expected one explains it. Unlike
 * {@link isRefusal}, it includes rows without a partition and errors that a retry may not repeat.
 */
export function isRowError(error: unknown): boolean {
  const { code, message = '' } = (error ?? {}) as Partial<DatabaseError>;
  // Error codes of Node have no digits.
  if (typeof code !== 'string' || !/^(?=.*\d)[0-9A-Z]{5}$/.test(code)) return false;
  if (/^(25|42|58)/.test(code) || code === '23502') return false;
  return ['internal_error', 'invalid_request'].includes(codeOf(code, message));
}

/** Returns whether a statement exceeded its time limit or waited too long for a lock. */
export function isTimeout(error: unknown): boolean {
  const { code = '', message = '' } = (error ?? {}) as Partial<DatabaseError>;
  return codeOf(code, message) === 'timeout';
}

function codeOf(sqlState: string, message: string): ErrorCode {
  // 57014 and pg's own message: statement timeout. 55P03: lock timeout.
  if (sqlState === '57014' || sqlState === '55P03' || message === 'Query read timeout') return 'timeout';
  // 08…: connection lost; 53…: out of connections, memory or disk; 57P0x: shutting down or starting up; 25006: standby;
  // 25P03: session ended because it was idle in a transaction; 28…: login rejected.
  if (/^(08|28|53|57P0|25006|25P03)/.test(sqlState)) return 'service_unavailable';
  if (lostConnection.test(sqlState) || lostConnection.test(message)) return 'service_unavailable';
  // 40001, 40P01: the transaction conflicts with a concurrent transaction; the same request can succeed.
  if (sqlState.startsWith('40')) return 'conflict';
  // 22021, 22P05: text that PostgreSQL cannot store (NUL).
  if (sqlState === '22021' || sqlState === '22P05') return 'invalid_request';
  return 'internal_error';
}

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
