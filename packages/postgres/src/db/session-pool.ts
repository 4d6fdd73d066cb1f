import { type CallScope, currentCall, FairShare } from '@rms/async';
import { type Attributes, attribute, isTracing, type Step, spanKind, traced } from '@rms/async/tracing';
import { RmsError } from '@rms/base/errors';
import pg from 'pg';
import { cancelStatement, DialingClient, type DialingConfig } from './dialing-client.ts';
import {
  connectionLifetimeSeconds,
  createServerReader,
  isBefore,
  isComparable,
  isSame,
  type Server,
  unavailable,
} from './primary.ts';

/** The statement forms that this service passes to pg. */
type Statement = string | { readonly text: string; readonly name?: string };

export interface SessionPoolOptions {
  /** Shown in logs. */
  readonly name: string;
  /** See {@link createStatementSteps}. */
  readonly url: string;
  readonly shares: ConnectionShares;
  /** Maximum time to read a server's state. */
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

/** Maximum length of a statement in a span. Values are parameters and are not recorded. */
const textLimit = 1_000;
/** Maximum number of cached steps. Bounds memory for statements with dynamically built text. */
const stepsKept = 500;
/** Statements that are too cheap to get a span. */
const silent = /^\s*(?:begin|rollback|set|listen)\b/i;
const retryAfterSeconds = 1;
/** Waiting calls of a workspace; further ones are rejected. Bounds the memory that they take. */
const maxWaiting = 1_000;

/**
 * A pool of sessions. A statement passes four steps:
 *
 * 1. Share: calls for one workspace use at most half of the connections, see {@link ConnectionShares}.
 * 2. Primary: a session is used only while its server is the current primary.
 * 3. Call: the statement ends with the RPC that it serves.
 * 4. Span: the statement is a step in the traces of the requests that it serves.
 *
 * Code that has a session must not wait for another one of the same pool.
 */
export class SessionPool extends pg.Pool {
  readonly #options: SessionPoolOptions;
  readonly #readServer: ReturnType<typeof createServerReader>;
  /** The sessions in use or idle, with their servers as of the session's start. */
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

  /** Runs one statement on its own session, and closes the session if the statement fails. */
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
   * Step 2, primary. After a failover, the old primary may stay up and keep its sessions; their reads are stale and
   * their writes fail.
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

/**
 * Limits the connections that the calls for one workspace (`CallScope.owner`) use at the same time to half of the pool,
 * so that the others remain for other workspaces and for workers. Further calls wait for their turn, for at most
 * `waitMs`; at most {@link maxWaiting} wait. Calls that cannot wait are rejected with `service_unavailable`.
 */
export class ConnectionShares {
  readonly #used: FairShare;
  readonly #waitMs: number;
  /** Waiting calls by owner, in order. Each function hands a connection over. */
  readonly #waiting = new Map<string, Set<() => void>>();

  /** @param max number of connections of the pool */
  constructor(max: number, waitMs: number) {
    this.#used = new FairShare({ perTenant: Math.ceil(max / 2) });
    this.#waitMs = waitMs;
  }

  /** Resolves when the call may use a connection. Rejects when the call ends, and after `waitMs`. */
  async take(owner: string, call: CallScope): Promise<void> {
    if (!this.#used.take(owner)) await this.#untilFree(owner, call);
  }

  leave(owner: string): void {
    const [next] = this.#waiting.get(owner) ?? [];
    if (next) next();
    else this.#used.release(owner);
  }

  /** Waits until a connection of the owner is handed over. */
  #untilFree(owner: string, call: CallScope): Promise<void> {
    call.check();
    const waiting = this.#waiting.get(owner) ?? new Set();
    if (waiting.size >= maxWaiting)
      throw busy(`${maxWaiting} calls for the workspace are already waiting for a database connection`);
    this.#waiting.set(owner, waiting);
    return new Promise((resolve, reject) => {
      const end = () => {
        clearTimeout(timer);
        leaveCall();
        waiting.delete(next);
        if (waiting.size === 0) this.#waiting.delete(owner);
      };
      const next = () => {
        end();
        resolve();
      };
      const fail = (reason: unknown) => {
        end();
        reject(reason);
      };
      const timer = setTimeout(() => {
        fail(busy(`no database connection was free for the workspace within ${this.#waitMs} ms`));
      }, this.#waitMs);
      waiting.add(next);
      const leaveCall = call.onEnd(fail);
    });
  }
}

function busy(reason: string): RmsError {
  return new RmsError('service_unavailable', { retryAfterSeconds, cause: new Error(reason) });
}

/**
 * Creates a function that describes a statement's span; it returns undefined for a statement without a span.
 * Returns undefined if this process does not trace.
 * @param url database URL; its host, port and name become span attributes
 */
function createStatementSteps(url: string): ((statement: Statement) => Step | undefined) | undefined {
  if (!isTracing()) return undefined;
  const where = { [attribute.dbSystem]: 'postgresql', ...serverOf(url) };
  const steps = new Map<string, Step>();
  return (statement) => {
    const { text, name }: { text: string; name?: string } =
      typeof statement === 'string' ? { text: statement } : statement;
    if (silent.test(text)) return undefined;
    const known = steps.get(text);
    if (known) return known;
    const query = text.replaceAll(/\s+/g, ' ').trim();
    const [operation = ''] = query.split(' ', 1);
    const summary = name ?? operation;
    const attributes = { ...where, [attribute.dbSummary]: summary, [attribute.dbQuery]: query.slice(0, textLimit) };
    const step = { name: summary, kind: spanKind.client, attributes };
    if (steps.size >= stepsKept) steps.clear();
    steps.set(text, step);
    return step;
  };
}

function serverOf(url: string): Attributes {
  // PostgreSQL accepts connection URLs that the URL class cannot parse: several hosts, sockets.
  if (!URL.canParse(url)) return {};
  const { hostname, port, pathname } = new URL(url);
  return {
    [attribute.dbNamespace]: pathname.slice(1),
    // A Unix socket's path is encoded.
    [attribute.serverAddress]: decodeURIComponent(hostname),
    [attribute.serverPort]: port === '' ? 5432 : Number(port),
  };
}
