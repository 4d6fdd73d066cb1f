import { readTlsFiles, requireSettings, type Settings, type TlsOptions } from '@rms/service';
import pg from 'pg';
import type { Pool } from './queryable.ts';
import { roleName, type ServiceRole } from './roles.ts';

export interface PoolOptions {
  readonly url: string;
  /** Connections at most. */
  readonly max: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** The role that each session takes on; unset: that of the login. */
  readonly role?: string | undefined;
  /**
   * TLS, with the server's certificate and name verified, whatever the URL says. Unset: as the URL says; `sslmode` there
   * means TLS and full verification, unless it is `disable` or `no-verify`.
   */
  readonly tls?: TlsOptions | undefined;
  readonly log: { warn(fields: object, message: string): void };
}

const connectTimeoutMs = 3_000;
const statementTimeoutMs = 10_000;
/** For a server that has gone without a word: then nobody else ends the statement. */
const answerTimeoutMs = 12_000;
/** A transaction of a process that hangs lets go of its locks. */
const idleInTransactionTimeoutMs = 30_000;

/**
 * Plans are made for the tables as they are at each execution: one kept from when a table was empty would read all of it
 * once it is full. Statements are small and batched, so that planning costs little; compiling them never pays.
 */
const sessionOptions = '-c plan_cache_mode=force_custom_plan -c jit=off';

/**
 * A pool whose statements and connection attempts have deadlines, so that no caller hangs on a database that is away.
 * `bigint` values come as text (they may not fit a number), `timestamptz` as Date.
 */
export function createPool({ url, max, applicationName, role, tls, log }: PoolOptions): Pool {
  const pool = new pg.Pool({
    // What the URL says of TLS would win over `ssl`.
    connectionString: tls ? withoutTls(url) : url,
    ...(tls ? { ssl: { ...tls, rejectUnauthorized: true } } : {}),
    max,
    application_name: applicationName,
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    query_timeout: answerTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionTimeoutMs,
    options: role === undefined ? sessionOptions : `${sessionOptions} -c role=${role}`,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
  });
  // An idle connection that breaks is the pool's business: it is replaced at the next query. A pool that has ended does not
  // wait for the connections that it is closing.
  pool.on('error', (err) => {
    if (!pool.ending) log.warn({ err, database_pool: applicationName }, 'an idle database connection broke');
  });
  // One that breaks while it is in use tells its query, and then says so again as an event that would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** The pool of a service, or of a command without a role of its own, as the settings say. Throws SettingsError. */
export function openPool(
  settings: Settings,
  options: { name: string; role?: ServiceRole; max?: number; log: PoolOptions['log'] },
): Pool {
  requireSettings(settings, 'DATABASE_URL');
  const { DATABASE_URL: url, DATABASE_POOL_SIZE, DATABASE_ROLE_PREFIX: prefix } = settings;
  const { name, role, max = DATABASE_POOL_SIZE, log } = options;
  return createPool({
    url,
    max,
    applicationName: `rms-${name}`,
    role: prefix && role && roleName(prefix, role),
    tls: readTlsFiles(settings, 'DATABASE'),
    log,
  });
}

function withoutTls(url: string): string {
  const parsed = new URL(url);
  for (const name of [...parsed.searchParams.keys()]) if (name.startsWith('ssl')) parsed.searchParams.delete(name);
  return parsed.href;
}
