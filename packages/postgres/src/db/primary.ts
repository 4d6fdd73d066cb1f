import { RmsError } from '@rms/base/errors';
import type { Pool, PoolClient, Queryable } from './statements.ts';

/** A session's server, as of the session's start. */
export interface Server {
  readonly isReadOnly: boolean;
  /** Identifies the cluster. Standbys and physical backups have the identifier of their origin. */
  readonly system: string;
  /** Hexadecimal number that grows with each promotion; empty for a standby, or if the server does not provide it. */
  readonly timeline: string;
  /** Whether the server has applied the connection's startup settings. Poolers can be told to ignore them. */
  readonly isConfigured: boolean;
}

/** Maximum lifetime of a connection. Connections follow changes of the address, of DNS and of certificates. */
const maxLifetimeSeconds = 600;

/** Returns a random lifetime in seconds, so that connections that were opened together are not closed together. */
export function connectionLifetimeSeconds(): number {
  return Math.ceil(maxLifetimeSeconds * (0.75 + 0.25 * Math.random()));
}

/** Throws `service_unavailable` unless the server of this pool or session accepts writes. */
export async function checkPrimary(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ read_only: string }>(
    `select current_setting('transaction_read_only') as read_only`,
  );
  checkWritable(rows[0]?.read_only);
}

/** Throws `service_unavailable` unless a session accepts writes. @param readOnly its setting transaction_read_only */
export function checkWritable(readOnly: string | undefined): void {
  if (readOnly !== 'off') throw unavailable('the database is read-only: it is not the primary');
}

/**
 * Opens a session that its owner keeps, for LISTEN or for session locks. Its server accepts writes. The owner sends a
 * statement at least every few seconds, so that it notices when the session is closed (see SessionPool), and
 * replaces the session after {@link connectionLifetimeSeconds}.
 */
export async function openSession(pool: Pool): Promise<PoolClient> {
  const client = await pool.connect();
  try {
    await checkPrimary(client);
    return client;
  } catch (error) {
    client.release(true);
    throw error;
  }
}

/** Sends a statement of a session. */
type Send = (statement: { text: string; query_timeout: number }) => Promise<unknown>;

/**
 * Creates a function that reads a server's state.
 * @param timeoutMs maximum time until its response
 */
export function createServerReader(timeoutMs: number): (send: Send) => Promise<Server> {
  const read = async (send: Send, text: string): Promise<Server> => {
    const { rows } = (await send({ text, query_timeout: timeoutMs })) as { rows: readonly Server[] };
    return rows[0] ?? { isReadOnly: true, isConfigured: false, system: '', timeline: '' };
  };
  let statement = withTimeline;
  return async (send) => {
    try {
      return await read(send, statement);
    } catch (error) {
      if (statement === withoutTimeline || !isSqlError(error)) throw error;
      // Some hosted databases do not provide the timeline.
      statement = withoutTimeline;
      return read(send, statement);
    }
  };
}

/**
 * The plan cache mode of a session is never the default, see pool.ts. A session never acknowledges commits that a crash
 * of the server, or with a synchronous standby a failover, would lose; stricter settings are kept.
 */
const settingsOf = `current_setting('transaction_read_only') = 'on' as "isReadOnly",
  current_setting('plan_cache_mode') <> 'auto' as "isConfigured",
  case when current_setting('synchronous_commit') in ('off', 'local')
       then set_config('synchronous_commit', 'on', false) end`;

const withTimeline = `select ${settingsOf},
  (select system_identifier::text from pg_control_system()) as system,
  case when pg_is_in_recovery() then '' else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`;
const withoutTimeline = `select ${settingsOf}, '' as system, '' as timeline`;

export function isComparable(one: Server, other: Server): boolean {
  return one.timeline !== '' && other.timeline !== '';
}

export function isSame(one: Server, other: Server): boolean {
  return one.system === other.system && one.timeline === other.timeline;
}

export function isBefore(one: Server, other: Server): boolean {
  return one.system === other.system && one.timeline < other.timeline;
}

function isSqlError(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^(0A|42|55)/.test(code);
}

export function unavailable(reason: string): RmsError {
  return new RmsError('service_unavailable', { cause: new Error(reason) });
}
