import { type CallScope, currentCall } from '@rms/async';
import { type Step, traced } from '@rms/async/tracing';
import pg from 'pg';
import { cancelStatement } from './cancel-statement.ts';
import type { ConnectionShares } from './connection-shares.ts';
import { DialingClient, type DialingConfig } from './dialing-client.ts';
import {
  connectionLifetimeSeconds,
  createServerReader,
  isBefore,
  isComparable,
  isSame,
  type Server,
  unavailable,
} from './primary.ts';
import { createStatementSteps, type Statement } from './statement-steps.ts';

export interface SessionPoolOptions {
  /** Shown in logs. */
  readonly name: string;
  /** See {@link createStatementSteps}. */
  readonly url: string;
  readonly shares: ConnectionShares;
  /** Maximum time to read the state of a server. */
  readonly timeoutMs: number;
  readonly log: { warn(fields: object, message: string): void };
}

interface SessionConfig extends DialingConfig {
  readonly stepOf: ((statement: Statement) => Step | undefined) | undefined;
}

/** Messages of the protocol that pg emits but does not declare. */
interface Wire {
  on(name: 'parameterStatus', listener: (message: { parameterName: string; parameterValue: string }) => void): void;
  on(name: 'errorMessage', listener: (message: { code?: string }) => void): void;
}

type Query = (...given: unknown[]) => Promise<unknown>;

/**
 * Lifetime of a session on a read-only server. It serves reads, because a full disk or an operator may have made the
 * whole database read-only, and it is replaced soon, because a new connection may reach a writable server.
 */
const readOnlyKeptMs = 2_000;
/** PostgreSQL sends the values of these settings with the response to the next statement after they have changed. */
const readOnlySettings = ['default_transaction_read_only', 'in_hot_standby'];
/** 25006: the server is read-only. 57P01 to 57P03: it is shutting down, has crashed, or is starting. */
const finalErrors = ['25006', '57P01', '57P02', '57P03'];
/** Statements that an ended call still sends: they only end its transaction. */
const ending = /^\s*rollback\b/i;
/** A canceled commit may have taken effect, without waiting for the standby that must confirm it. */
const committing = /^\s*commit\b/i;

/**
 * A pool of sessions. A statement passes four steps:
 *
 * 1. Share: calls for one workspace use at most half of the connections, see {@link ConnectionShares}.
 * 2. Primary: a session is used only while its server is the current primary.
 * 3. Call: the statement ends with the RPC that it serves.
 * 4. Span: the statement is a step of the traces of the requests that it serves.
 *
 * Code that has a session must not wait for another one of the same pool.
 */
export class SessionPool extends pg.Pool {
  readonly #options: SessionPoolOptions;
  readonly #readServer: ReturnType<typeof createServerReader>;
  /** The sessions in use or idle, with their servers as of the start of the session. */
  readonly #sessions = new Map<Session, Server>();

  constructor(config: pg.PoolConfig & DialingConfig, options: SessionPoolOptions) {
    const sessionConfig: pg.PoolConfig & SessionConfig = {
      ...config,
      Client: Session as unknown as new () => Session,
      onConnect: (session) => this.#admit(session as Session),
      stepOf: createStatementSteps(options.url),
    };
    super(sessionConfig);
    this.#options = options;
    this.#readServer = createServerReader(options.timeoutMs);
    this.on('acquire', (session) => setInUse(session, true));
    this.on('release', (_error, session) => setInUse(session, false));
    // A connection that breaks in use rejects its query and then also emits an error event, which would end the
    // process.
    this.on('connect', (session) => session.on('error', () => {}));
    // At the next query, the pool replaces an idle connection that has failed. An ended pool does not wait for the
    // connections that it is closing.
    this.on('error', (err) => {
      if (!this.ending) options.log.warn({ err, database_pool: options.name }, 'an idle database connection failed');
    });
  }

  /** Runs one statement on a session of its own. A session whose statement has failed is closed. */
  override readonly query = (async (...given) => {
    currentCall()?.check();
    const session = await this.connect();
    let hasFailed = true;
    try {
      const result = await (session.query as unknown as Query)(...given);
      hasFailed = false;
      return result;
    } finally {
      session.release(hasFailed);
    }
  }) satisfies Query as unknown as pg.Pool['query'];

  /** Step 1, share. Work outside of calls, and calls for several workspaces, are not limited. */
  override async connect(): Promise<pg.PoolClient> {
    const call = currentCall();
    if (!call?.owner) return super.connect();
    const { owner } = call;
    const { shares } = this.#options;
    await shares.take(owner, call);
    try {
      const session = await super.connect();
      const { release } = session;
      session.release = (...args) => {
        session.release = release;
        shares.leave(owner);
        release.apply(session, args);
      };
      return session;
    } catch (error) {
      shares.leave(owner);
      throw error;
    }
  }

  /**
   * Step 2, primary. After a failover, the old primary may stay up and keep its sessions, whose reads are stale and
   * whose writes fail.
   *
   * - A session reads the state of its server once, before its first use. A session whose settings are not in effect is
   *   rejected. If another session is on a later timeline of the same cluster, the new session is rejected. If the new
   *   session is on a later timeline or in another cluster, the other sessions are closed.
   * - A session is closed when its server reports that it became read-only. The report costs no statement: PostgreSQL
   *   sends it with the next response.
   * - A session is closed after one of {@link finalErrors}.
   * - A session is replaced after {@link connectionLifetimeSeconds}.
   */
  async #admit(session: Session): Promise<void> {
    const { name } = this.#options;
    // The pool reads this option after #admit.
    this.options.maxLifetimeSeconds = connectionLifetimeSeconds();
    const server = await this.#readServer((statement) => session.send(statement));
    if (!server.isConfigured) {
      throw unavailable(
        `${name}: the settings of the session are not in effect; connect to PostgreSQL itself, not through a pooler ` +
          'that ignores the startup parameter "options"',
      );
    }
    const others = [...this.#sessions].filter(([, other]) => isComparable(server, other));
    if (others.some(([, other]) => isBefore(server, other))) {
      throw unavailable(`${name}: connected to an old primary, of timeline ${server.timeline}`);
    }
    for (const [other, its] of others) if (!isSame(server, its)) this.#close(other, 'there is a new primary');
    this.#sessions.set(session, server);
    session.once('end', () => this.#sessions.delete(session));
    if (server.isReadOnly) {
      setTimeout(() => this.#close(session, 'the server is read-only'), readOnlyKeptMs).unref();
    }
    const wire = session.connection as unknown as Wire;
    wire.on('parameterStatus', ({ parameterName, parameterValue }) => {
      if (readOnlySettings.includes(parameterName) && parameterValue === 'on') {
        this.#close(session, `the server became read-only: ${parameterName} is on`);
      }
    });
    wire.on('errorMessage', ({ code = '' }) => {
      if (finalErrors.includes(code)) this.#close(session, `the server responded with error ${code}`);
    });
  }

  /** A session in use is closed after its statements in flight; its open transaction is rolled back. */
  #close(session: Session, reason: string): void {
    if (!this.#sessions.delete(session)) return;
    if (session.isInUse) {
      this.#options.log.warn({ reason, database_pool: this.#options.name }, 'closing a database connection');
      void session.end();
    } else {
      // The pool logs the error of an idle connection and removes the connection.
      session.emit('error', new Error(reason));
    }
  }
}

function setInUse(session: pg.PoolClient, isInUse: boolean): void {
  (session as unknown as Session).isInUse = isInUse;
}

class Session extends DialingClient {
  isInUse = true;
  readonly #stepOf: SessionConfig['stepOf'];
  #isCanceled = false;

  constructor(config: SessionConfig) {
    super(config);
    this.#stepOf = config.stepOf;
  }

  override readonly query = ((...given) => {
    const [statement] = given as [Statement];
    const call = currentCall();
    return call ? this.#inCall(call, statement, given) : this.#inSpan(statement, given);
  }) satisfies Query as unknown as pg.Client['query'];

  /**
   * Step 3, call. An RPC ends before its response if its caller has canceled it or its deadline has passed, and no
   * caller waits for the result. A statement in flight is then canceled by the server, later statements are not sent,
   * and the session is closed, so that a late cancellation cannot meet a statement of another call.
   *
   * A statement of a call that does not end early costs no message.
   */
  async #inCall(call: CallScope, statement: Statement, given: readonly unknown[]): Promise<unknown> {
    const text = typeof statement === 'string' ? statement : statement.text;
    if (ending.test(text)) return this.#inSpan(statement, given);
    call.check();
    if (committing.test(text)) return this.#inSpan(statement, given);
    const leave = call.onEnd(() => this.#cancel());
    try {
      return await this.#inSpan(statement, given);
    } finally {
      leave();
    }
  }

  /** Step 4, span. */
  #inSpan(statement: Statement, given: readonly unknown[]): Promise<unknown> {
    const step = this.#stepOf?.(statement);
    return step
      ? traced(
          () => step,
          () => this.send(...given),
        )
      : this.send(...given);
  }

  /** Sends a statement without the steps. */
  send(...given: readonly unknown[]): Promise<unknown> {
    return super.query(...(given as [string, unknown[]?]));
  }

  #cancel(): void {
    if (this.#isCanceled) return;
    this.#isCanceled = true;
    cancelStatement(this);
  }
}
