import type { TlsFiles } from '@rms/service';
import pg from 'pg';
import { connectionOptions } from './connection-options.ts';
import type { Pool } from './queryable.ts';
import { traceQueries } from './trace-queries.ts';

export interface PoolOptions {
  /** Its `sslmode` is read as {@link connectionOptions} says. */
  readonly url: string;
  /** With a CA connections are TLS, and the server proves that it is the host of the URL. */
  readonly tls?: TlsFiles;
  /** Connections at most. */
  readonly max: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** The role that each session takes on; unset: that of the login. */
  readonly role?: string | undefined;
  /** 'kept': for statements that find all their rows by keys; default: 'each'. See {@link sessionOptions}. */
  readonly plans?: 'each' | 'kept' | undefined;
  readonly log: { warn(fields: object, message: string): void };
}

const connectTimeoutMs = 3_000;
const statementTimeoutMs = 10_000;
/** For a server that has gone without a word: then nobody else ends the statement. */
const answerTimeoutMs = 12_000;
/** A transaction of a process that hangs lets go of its locks. */
const idleInTransactionTimeoutMs = 30_000;

/**
 * 'each': plans are made for the tables as they are at each execution: one kept from when a table was empty would read all
 * of it once it is full. Statements are small and batched, so that planning costs little; compiling them never pays.
 * 'kept': a plan is made once, and has no other way than by indexes, so that it is right at any size. For statements that
 * always find their rows by keys, and that take longer to plan than to execute.
 */
const sessionOptions = {
  each: '-c plan_cache_mode=force_custom_plan -c jit=off',
  kept: [
    '-c plan_cache_mode=force_generic_plan -c jit=off -c enable_seqscan=off -c enable_bitmapscan=off',
    '-c enable_hashjoin=off -c enable_mergejoin=off',
  ].join(' '),
};

/**
 * A pool whose statements and connection attempts have deadlines, so that no caller hangs on a database that is away.
 * `bigint` values come as text (they may not fit a number), `timestamptz` as Date.
 */
export function createPool(options: PoolOptions): Pool {
  const { url, tls = {}, max, applicationName, role, plans = 'each', log } = options;
  const session = role === undefined ? sessionOptions[plans] : `${sessionOptions[plans]} -c role=${role}`;
  const pool = new pg.Pool({
    ...connectionOptions(url, tls, session),
    max,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    // A statement is sent at once, though the one before it on the same connection is not answered yet.
    pipeline: true,
  });
  // An idle connection that breaks is the pool's business: it is replaced at the next query. A pool that has ended does not
  // wait for the connections that it is closing.
  pool.on('error', (err) => {
    if (!pool.ending) log.warn({ err, database_pool: applicationName }, 'an idle database connection broke');
  });
  // One that breaks while it is in use tells its query, and then says so again as an event that would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  traceQueries(pool, url);
  return pool;
}
