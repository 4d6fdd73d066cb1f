import { type ErrorCode, RmsError } from '@rms/errors';
import type { DatabaseError } from 'pg';

/** Which public error a violated constraint means, by the constraint's name. */
export type ConstraintErrors = Readonly<Record<string, { code: ErrorCode; message?: string }>>;

/** Errors of Node's network and of pg when the server can't be reached, or was lost. */
const lostConnection = new RegExp(
  [
    ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN'],
    ...['Connection terminated', 'not queryable', 'timeout exceeded when trying to connect', 'calling end on the pool'],
  ].join('|'),
);

/** Turns whatever a query threw into the one error type; every PostgreSQL error is translated here and nowhere else. */
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
 * Whether PostgreSQL has refused a statement for what is in it, so that it would refuse the same again: text or numbers
 * that it cannot hold (22…), a violated constraint (23…), too large (54…). Two are no refusals of what is in it: a row without
 * a partition violates no constraint that has a name, and the partition may still be made; a missing value (23502) means
 * that the schema is not the one that we know.
 */
export function isRefusal(error: unknown): boolean {
  const { code, constraint } = (error ?? {}) as Partial<DatabaseError>;
  if (typeof code !== 'string' || !/^(22|23|54)[0-9A-Z]{3}$/.test(code)) return false;
  return code !== '23502' && (code !== '23514' || constraint !== undefined);
}

/** Whether a statement has taken longer than it may, or has waited so long for a lock. */
export function isTimeout(error: unknown): boolean {
  const { code = '', message = '' } = (error ?? {}) as Partial<DatabaseError>;
  return codeOf(code, message) === 'timeout';
}

function codeOf(sqlState: string, message: string): ErrorCode {
  // 57014, and pg's own text: a statement that ran into its timeout; 55P03: one that waited too long for a lock.
  if (sqlState === '57014' || sqlState === '55P03' || message === 'Query read timeout') return 'timeout';
  // 08…: connection lost; 53…: out of connections, memory or disk; 57P0x: shutting down or starting up; 25006: standby;
  // 25P03: the session was ended for idling in a transaction; 28…: we were not let in.
  if (/^(08|28|53|57P0|25006|25P03)/.test(sqlState)) return 'service_unavailable';
  if (lostConnection.test(sqlState) || lostConnection.test(message)) return 'service_unavailable';
  // 40001, 40P01: the transaction lost against another; the same request can succeed.
  if (sqlState.startsWith('40')) return 'conflict';
  // 22021, 22P05: text that PostgreSQL cannot hold (NUL).
  if (sqlState === '22021' || sqlState === '22P05') return 'invalid_request';
  return 'internal_error';
}
