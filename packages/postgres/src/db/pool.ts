import type { Logger } from '@rms/runtime/logging';
import { Gauge, type Metrics } from '@rms/runtime/metrics';
import {
  type Current,
  currentOf,
  followSecret,
  followTlsFiles,
  requireSettings,
  type Settings,
  type TlsFiles,
} from '@rms/runtime/settings';
import { connectionOptions } from './connection-options.ts';
import { roleName, type ServiceRole } from './roles.ts';
import { ConnectionShares, SessionPool } from './session-pool.ts';
import type { Pool } from './statements.ts';

export interface OpenPoolOptions {
  /** Application name, shown in pg_stat_activity. */
  readonly name: string;
  /** Service with the role that the sessions assume if DATABASE_ROLE_PREFIX is set; unset: the login's role. */
  readonly role?: ServiceRole;
  /** Maximum number of connections; default: DATABASE_POOL_SIZE. */
  readonly max?: number;
  /** See {@link PoolOptions}. */
  readonly plans?: PoolOptions['plans'];
  readonly log: Logger;
}

/** Opens a pool on the database named by the settings. Throws SettingsError if DATABASE_URL is missing or unusable. */
export function openPool(settings: Settings, { name, role, max, plans, log }: OpenPoolOptions): Pool {
  requireSettings(settings, 'DATABASE_URL');
  const { DATABASE_POOL_SIZE: poolSize, DATABASE_ROLE_PREFIX: prefix } = settings;
  const tls = followTlsFiles(settings, 'DATABASE');
  const check = (next: string) => void connectionOptions(next, tls(log), '');
  const url = followSecret(settings, 'DATABASE_URL', { check });
  return createPool({
    url: () => url(log),
    tls: () => tls(log),
    max: max ?? poolSize,
    applicationName: name,
    role: role && prefix && roleName(prefix, role),
    plans,
    log,
  });
}

export interface PoolOptions {
  /** See {@link connectionOptions} for its `sslmode`. */
  readonly url: Current<string>;
  /** With a CA, connections use TLS and the server's host name is verified. */
  readonly tls?: Current<TlsFiles>;
  /** Maximum number of connections. */
  readonly max: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Role that each session assumes; unset: the login's role. */
  readonly role?: string | undefined;
  /** 'kept' is for statements that find all rows by key; default: 'each'. See {@link sessionOptions}. */
  readonly plans?: 'each' | 'kept' | undefined;
  /** Maximum time until a call has a connection; default: 3 s. */
  readonly connectTimeoutMs?: number;
  readonly log: { warn(fields: object, message: string): void };
}

const defaultConnectTimeoutMs = 3_000;
const statementTimeoutMs = 10_000;
/** Ends a statement on the client side if the server disappears without closing the connection. */
const responseTimeoutMs = 12_000;
/** Ends transactions of a hanging process, which releases their locks. */
const idleInTransactionTimeoutMs = 30_000;
/**
 * Each connection is a server process of 3 MB or more, so connections opened during a burst are closed soon afterwards.
 */
const idleTimeoutMs = 10_000;

/**
 * Settings that this code depends on, and that a server, a database or a role can set differently: the text forms of
 * values and literals, and the isolation level.
 */
const fixedOptions = [
  '-c datestyle=ISO -c intervalstyle=postgres -c bytea_output=hex -c extra_float_digits=1 -c array_nulls=on',
  '-c standard_conforming_strings=on -c default_transaction_isolation=read\\ committed',
].join(' ');

/**
 * Planner settings of a session:
 * - 'each': every execution is planned for the current state of the tables. A plan cached while a table was empty would
 *   scan the whole table after it has grown. Statements are small and batched, so planning is cheap; JIT compilation
 *   never pays off.
 * - 'kept': a statement is planned once and can only use indexes, so that the plan is right for any table size. Use it
 *   for statements that always find their rows by key and take longer to plan than to execute.
 */
const sessionOptions = {
  each: '-c plan_cache_mode=force_custom_plan -c jit=off',
  kept: [
    '-c plan_cache_mode=force_generic_plan -c jit=off -c enable_seqscan=off -c enable_bitmapscan=off',
    '-c enable_hashjoin=off -c enable_mergejoin=off',
  ].join(' '),
};

/**
 * Creates a pool with timeouts for statements and connection attempts, so that no caller hangs when the database is
 * unreachable. `bigint` values are returned as text because they may exceed a number; `timestamptz` as Date.
 */
export function createPool(options: PoolOptions): Pool {
  const { url, tls = {}, max, applicationName, role, plans = 'each', log } = options;
  const { connectTimeoutMs = defaultConnectTimeoutMs } = options;
  const session = [fixedOptions, sessionOptions[plans], ...(role === undefined ? [] : [`-c role=${role}`])].join(' ');
  const connection = () => connectionOptions(currentOf(url), currentOf(tls), session);
  // Invalid options end the start.
  connection();
  const config = {
    // Each connection uses the current password, CA and client certificate.
    current: connection,
    max,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: responseTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    idleTimeoutMillis: idleTimeoutMs,
    keepAlive: true,
    // Send a statement immediately, even if the previous statement on the same connection has no response yet.
    pipeline: true,
  };
  return new SessionPool(config, {
    name: applicationName,
    url: currentOf(url),
    shares: new ConnectionShares(max, connectTimeoutMs),
    timeoutMs: connectTimeoutMs,
    log,
  });
}

/** Registers gauges of the connections in use and the calls waiting for a connection, per pool. */
export function showPools(metrics: Metrics, pools: Readonly<Record<string, Pool>>): void {
  const registers = [metrics];
  new Gauge({
    name: 'rms_db_pool_connections',
    help: 'Connections to PostgreSQL, by pool and state: in_use or idle.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { totalCount, idleCount }] of Object.entries(pools)) {
        this.set({ pool, state: 'in_use' }, totalCount - idleCount);
        this.set({ pool, state: 'idle' }, idleCount);
      }
    },
  });
  new Gauge({
    name: 'rms_db_pool_max_connections',
    help: 'Maximum connections to PostgreSQL of a pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { options }] of Object.entries(pools)) this.set({ pool }, options.max);
    },
  });
  new Gauge({
    name: 'rms_db_pool_waiting',
    help: 'Calls waiting for a connection of a pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { waitingCount }] of Object.entries(pools)) this.set({ pool }, waitingCount);
    },
  });
}
