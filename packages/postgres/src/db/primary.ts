import { RmsError } from '@rms/base/errors';
import type pg from 'pg';
import type { Pool, PoolClient, Queryable } from './queryable.ts';

/** The server of a session, as of the start of the session. */
interface Server {
  readonly isReadOnly: boolean;
  /** Identifies the cluster. Standbys and physical backups have the identifier of their origin. */
  readonly system: string;
  /** Hexadecimal number that grows with each promotion; empty for a standby, or if the server does not provide it. */
  readonly timeline: string;
  /** Whether the server has applied the settings with which the connection began. Poolers can be told to ignore them. */
  readonly isConfigured: boolean;
}

interface Session {
  readonly client: pg.ClientBase;
  readonly server: Server;
  inUse: boolean;
}

/** Messages of the protocol that pg emits but does not declare. */
interface Wire {
  on(name: 'parameterStatus', listener: (message: { parameterName: string; parameterValue: string }) => void): void;
  on(name: 'errorMessage', listener: (message: { code?: string }) => void): void;
}

/**
 * Lifetime of a session on a read-only server. It serves reads, because a full disk or an operator may have made the
 * whole database read-only, and it is replaced soon, because a new connection may reach a writable server.
 */
const readOnlyKeptMs = 2_000;
/** Maximum lifetime of a connection. Connections follow changes of the address, of DNS and of certificates. */
const maxLifetimeSeconds = 600;

/** PostgreSQL sends the values of these settings with the response to the next statement after they have changed. */
const readOnlySettings = ['default_transaction_read_only', 'in_hot_standby'];
/** 25006: the server is read-only. 57P01 to 57P03: it is shutting down, has crashed, or is starting. */
const finalErrors = ['25006', '57P01', '57P02', '57P03'];

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
 * statement at least every few seconds, so that it notices when the session is closed (see {@link keepOnPrimary}), and
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

/**
 * Keeps the sessions of a pool on the current primary. After a failover, the old primary may stay up and keep its
 * sessions, whose reads are stale and whose writes fail.
 *
 * - A session reads the state of its server once, before its first use. A session whose settings are not in effect is
 *   rejected. If another session is on a later timeline of the same cluster, the new session is rejected. If the new
 *   session is on a later timeline or in another cluster, the other sessions are closed.
 * - A session is closed when its server reports that it became read-only. The report costs no statement: PostgreSQL
 *   sends it with the next response.
 * - A session is closed after one of {@link finalErrors}.
 * - A session is replaced after {@link connectionLifetimeSeconds}.
 *
 * A session in use is closed after its statements in flight; its open transaction is rolled back.
 */
export function keepOnPrimary(
  pool: Pool,
  { name, timeoutMs, log }: { name: string; timeoutMs: number; log: { warn(fields: object, message: string): void } },
): void {
  const sessions = new Map<pg.ClientBase, Session>();
  let readState = readTimeline;

  const close = ({ client, inUse }: Session, reason: string) => {
    if (!sessions.delete(client)) return;
    if (inUse) {
      log.warn({ reason, database_pool: name }, 'closing a database connection');
      void (client as pg.Client).end();
    } else {
      // The pool logs the error of an idle connection and removes the connection.
      client.emit('error', new Error(reason));
    }
  };

  const read = async (client: pg.ClientBase): Promise<Server> => {
    try {
      return await readState(client, timeoutMs);
    } catch (error) {
      if (readState === readReadOnly || !isSqlError(error)) throw error;
      // Some hosted databases do not provide the timeline.
      readState = readReadOnly;
      return readReadOnly(client, timeoutMs);
    }
  };

  pool.options.onConnect = async (client) => {
    // The pool reads this option when onConnect has returned.
    pool.options.maxLifetimeSeconds = connectionLifetimeSeconds();
    const server = await read(client);
    if (!server.isConfigured) {
      throw unavailable(
        `${name}: the settings of the session are not in effect; connect to PostgreSQL itself, not through a pooler ` +
          'that ignores the startup parameter "options"',
      );
    }
    const others = [...sessions.values()].filter((other) => isComparable(server, other.server));
    if (others.some((other) => isBefore(server, other.server))) {
      throw unavailable(`${name}: connected to an old primary, of timeline ${server.timeline}`);
    }
    for (const other of others) if (!isSame(server, other.server)) close(other, 'there is a new primary');
    const session: Session = { client, server, inUse: true };
    sessions.set(client, session);
    client.once('end', () => sessions.delete(client));
    if (server.isReadOnly) {
      setTimeout(() => close(session, 'the server is read-only'), readOnlyKeptMs).unref();
    }
    const { connection } = client as unknown as { connection: Wire };
    connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (readOnlySettings.includes(parameterName) && parameterValue === 'on') {
        close(session, `the server became read-only: ${parameterName} is on`);
      }
    });
    connection.on('errorMessage', ({ code = '' }) => {
      if (finalErrors.includes(code)) close(session, `the server responded with error ${code}`);
    });
  };
  pool.on('acquire', (client) => setInUse(client, true));
  pool.on('release', (_error, client) => setInUse(client, false));

  function setInUse(client: pg.ClientBase, inUse: boolean): void {
    const session = sessions.get(client);
    if (session) session.inUse = inUse;
  }
}

/**
 * The plan cache mode of a session is never the default, see pool.ts. A session never acknowledges commits that a crash
 * of the server, or with a synchronous standby a failover, would lose; stricter settings are kept.
 */
const settingsOf = `current_setting('transaction_read_only') = 'on' as read_only,
  current_setting('plan_cache_mode') <> 'auto' as configured,
  case when current_setting('synchronous_commit') in ('off', 'local')
       then set_config('synchronous_commit', 'on', false) end`;

async function readTimeline(client: pg.ClientBase, timeoutMs: number): Promise<Server> {
  return readServer(
    client,
    timeoutMs,
    `select ${settingsOf},
            (select system_identifier::text from pg_control_system()) as system,
            case when pg_is_in_recovery() then '' else left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`,
  );
}

async function readReadOnly(client: pg.ClientBase, timeoutMs: number): Promise<Server> {
  return readServer(client, timeoutMs, `select ${settingsOf}, '' as system, '' as timeline`);
}

async function readServer(client: pg.ClientBase, timeoutMs: number, text: string): Promise<Server> {
  const query = { text, query_timeout: timeoutMs };
  type Row = { read_only: boolean; configured: boolean; system: string; timeline: string };
  const { rows } = await client.query<Row>(query);
  const { read_only: isReadOnly = true, configured: isConfigured = false, system = '', timeline = '' } = rows[0] ?? {};
  return { isReadOnly, isConfigured, system, timeline };
}

function isComparable(one: Server, other: Server): boolean {
  return one.timeline !== '' && other.timeline !== '';
}

function isSame(one: Server, other: Server): boolean {
  return one.system === other.system && one.timeline === other.timeline;
}

function isBefore(one: Server, other: Server): boolean {
  return one.system === other.system && one.timeline < other.timeline;
}

function isSqlError(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && /^(0A|42|55)/.test(code);
}

function unavailable(reason: string): RmsError {
  return new RmsError('service_unavailable', { cause: new Error(reason) });
}
