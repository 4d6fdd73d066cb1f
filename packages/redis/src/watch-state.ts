import { isDemotion } from './connect-later.ts';

/** Interval of probes while Redis is used. They also detect that another server has taken over. */
const watchMs = 1_000;
/** Interval of probes while Redis is not used. */
const reconnectCheckMs = 500;

/** Server state that a probe reads. */
export interface ServerState {
  readonly runId: string;
  readonly epoch: string;
  /** End of the trust in the markers, as performance.now() in milliseconds; 0: they are not confirmed. */
  readonly trustedUntilMs: number;
  /** Number of limiters that checked recently. */
  readonly members: number;
  /** Keys evicted since the server's start. */
  readonly evictedKeys: number;
  /** Which keys the server evicts when its memory is full; empty: its memory is not limited, or it does not say. */
  readonly policy: string;
}

/** Times are of performance.now(), in milliseconds. */
export interface WatchState {
  /** 'open': the server may be loading its data. */
  readonly connection: 'closed' | 'open' | 'ready';
  /** Number of connections that were closed. Results of probes of earlier connections are discarded. */
  readonly closed: number;
  readonly isUsed: boolean;
  /** Whether a probe on the current connection has no result yet. */
  readonly isProbing: boolean;
  /** Rights on the current connection: not checked yet, complete, or the error that lists the missing ones. */
  readonly rights: 'unchecked' | 'complete' | Error;
  /** As of the last probe that succeeded. */
  readonly server: ServerState | undefined;
  /** End of the trust in the markers. */
  readonly trustedUntilMs: number;
  /** When the server was last seen to have evicted keys. */
  readonly evictedAtMs: number;
  /** When Redis was used again after a failure. */
  readonly returnedAtMs: number;
  /** Redis is not used before. */
  readonly restUntilMs: number;
  /** Whether the log says that the server of the current connection loads its data. */
  readonly isLoading: boolean;
  /** Distinct reasons since Redis was last used for `restMs`; each is logged once. */
  readonly reasons: ReadonlySet<string>;
  readonly isStopped: boolean;
}

export type WatchEvent =
  /** The connection is open, the server has loaded its data, the connection is closed. */
  | { readonly kind: 'opened' | 'ready' | 'closed' }
  /** The client cannot connect, or the server has lost its role. */
  | { readonly kind: 'error'; readonly error: Error }
  /** The time of the last effect 'wake' has come. */
  | { readonly kind: 'due' }
  | { readonly kind: 'rights'; readonly missing: Error | undefined; readonly closed: number }
  | { readonly kind: 'probed'; readonly server: ServerState; readonly closed: number }
  | { readonly kind: 'probe failed'; readonly error: unknown; readonly closed: number }
  /** The server loads its data. `percent` is NaN if it does not say how much is loaded. */
  | { readonly kind: 'loading'; readonly percent: number; readonly closed: number }
  | { readonly kind: 'check failed'; readonly error: unknown }
  | { readonly kind: 'stopped' };

export type WatchEffect =
  /** Schedules the event 'due'. It replaces a scheduled one. */
  | { readonly kind: 'wake'; readonly afterMs: number }
  /** Reads the server's state. Ends with 'probed' or 'probe failed'; `checksRights` adds 'rights' before. */
  | { readonly kind: 'probe'; readonly checksRights: boolean; readonly closed: number }
  /** Asks the server whether it loads its data; if so, 'loading' follows. */
  | { readonly kind: 'ask whether it loads'; readonly closed: number }
  /** Markers may have been lost. */
  | { readonly kind: 'markers lost' }
  | { readonly kind: 'report'; readonly error: unknown }
  | {
      readonly kind: 'log';
      readonly level: 'info' | 'warn' | 'error';
      readonly fields: Readonly<Record<string, unknown>>;
      readonly message: string;
    };

export const initialState: WatchState = {
  connection: 'closed',
  closed: 0,
  isUsed: false,
  isProbing: false,
  rights: 'unchecked',
  server: undefined,
  trustedUntilMs: 0,
  evictedAtMs: Number.NEGATIVE_INFINITY,
  returnedAtMs: Number.NEGATIVE_INFINITY,
  restUntilMs: 0,
  isLoading: false,
  reasons: new Set(),
  isStopped: false,
};

/** Whether checks may use the server. */
export function isUsable({ isUsed, connection }: WatchState): boolean {
  return isUsed && connection === 'ready';
}

/**
 * Decides what follows from an event at a server: the machine of {@link createRedisWatch}, without input and output.
 *
 *   not used ──a probe succeeds──► used ──a check or probe fails, the connection breaks──► not used
 *
 * - A server whose checks or probes fail again within `restMs` of such a return, on the same connection, is not used
 *   for `restMs`. A server whose memory is almost full would otherwise be used and left several times a second.
 * - The first probe of a connection checks the rights of its user. Without them, Redis is not used, and each distinct
 *   reason is logged.
 * - Markers may be lost when the connection breaks (the next connection may reach another server), when the server's
 *   run ID changes, and when the epoch key is missing (the server restarted empty or was flushed). Principals that were
 *   cached while the markers were unconfirmed are not covered by markers, so they are dropped when a confirmation
 *   arrives.
 * - A server with another `maxmemory-policy` than noeviction may evict markers one by one. While it evicts keys, its
 *   markers are not trusted. Evictions are noticed with the next probe.
 * - Until it is stopped, either a probe has no result yet, or an event 'due' is scheduled.
 *
 * @param restMs time without evicted keys until the markers are trusted again, and rest after repeated failures
 */
export function next(
  state: WatchState,
  event: WatchEvent,
  nowMs: number,
  restMs: number,
): { readonly state: WatchState; readonly effects: readonly WatchEffect[] } {
  const isOutdated = 'closed' in event && event.closed !== state.closed;
  if (state.isStopped || isOutdated) return { state, effects: [] };
  const step = new Step(state, nowMs, restMs);
  step.take(event);
  return { state: step.state, effects: step.effects };
}

type Draft = { -readonly [Name in keyof WatchState]: WatchState[Name] };

/** One transition: a copy of the state, and the effects. */
class Step {
  readonly state: Draft;
  readonly effects: WatchEffect[] = [];
  readonly #nowMs: number;
  readonly #restMs: number;

  constructor(state: WatchState, nowMs: number, restMs: number) {
    this.state = { ...state };
    this.#nowMs = nowMs;
    this.#restMs = restMs;
  }

  take(event: WatchEvent): void {
    const { state } = this;
    if (event.kind === 'opened') this.#open();
    else if (event.kind === 'ready') this.#begin();
    else if (event.kind === 'closed') this.#close();
    else if (event.kind === 'error') this.#fail(event.error);
    else if (event.kind === 'due') this.#look();
    else if (event.kind === 'rights') state.rights = event.missing ?? 'complete';
    else if (event.kind === 'probed') this.#accept(event.server);
    else if (event.kind === 'probe failed') this.#refuse(event.error);
    else if (event.kind === 'loading') this.#load(event.percent);
    else if (event.kind === 'check failed') this.#leave(event.error);
    else state.isStopped = true;
  }

  #open(): void {
    this.state.connection = 'open';
    this.state.isLoading = false;
    this.#wake(reconnectCheckMs);
  }

  #begin(): void {
    this.state.connection = 'ready';
    this.state.restUntilMs = 0;
    this.state.rights = 'unchecked';
    this.#probe();
  }

  #close(): void {
    const { state } = this;
    const wasReady = state.connection === 'ready';
    state.connection = 'closed';
    state.closed += 1;
    state.isProbing = false;
    this.#leave(new Error('the connection is closed'));
    if (wasReady) this.effects.push({ kind: 'markers lost' });
    this.#wake(reconnectCheckMs);
  }

  #fail(error: Error): void {
    if (this.state.isUsed) this.#leave(error);
    else if (isDemotion(error)) this.#explain(error);
    // A wrong password or certificate is reported only here: commands that wait for the connection only learn that it
    // closed.
    else if (this.#isNewReason(error)) this.#log('warn', { err: error }, 'cannot connect to Redis');
  }

  #look(): void {
    const { connection, closed, isLoading } = this.state;
    if (connection === 'ready') this.#probe();
    else {
      if (connection === 'open' && !isLoading) this.effects.push({ kind: 'ask whether it loads', closed });
      this.#wake(reconnectCheckMs);
    }
  }

  #probe(): void {
    const { state } = this;
    if (state.isProbing) return;
    state.isProbing = true;
    this.effects.push({ kind: 'probe', checksRights: state.rights !== 'complete', closed: state.closed });
  }

  #load(percent: number): void {
    const { state } = this;
    if (state.isLoading || state.connection === 'ready') return;
    state.isLoading = true;
    this.#log(
      'warn',
      { percent },
      'Redis is loading its data; until then, limits are enforced locally and auth verifies keys',
    );
  }

  /** Uses the server, unless it rests. */
  #accept(server: ServerState): void {
    const { state } = this;
    const before = state.server;
    state.isProbing = false;
    const hasEvicted = this.#checkEvictions(server);
    const hasChanged = before !== undefined && (before.runId !== server.runId || before.epoch !== server.epoch);
    state.server = server;
    const trustedUntilMs = this.#isEvicting() ? 0 : server.trustedUntilMs;
    const trustBegins = this.#nowMs >= state.trustedUntilMs && this.#nowMs < trustedUntilMs;
    state.trustedUntilMs = trustedUntilMs;
    if (!state.isUsed && this.#nowMs >= state.restUntilMs) {
      this.#log('info', {}, 'Redis is used');
      if (before) state.returnedAtMs = this.#nowMs;
      state.isUsed = true;
    }
    if (state.isUsed && this.#nowMs >= state.returnedAtMs + this.#restMs) state.reasons = initialState.reasons;
    if (hasChanged || hasEvicted || trustBegins) this.effects.push({ kind: 'markers lost' });
    this.#wake(state.isUsed ? watchMs : reconnectCheckMs);
  }

  #refuse(error: unknown): void {
    const { state } = this;
    state.isProbing = false;
    this.effects.push({ kind: 'report', error });
    if (!state.isUsed && !(isLost(error) && state.reasons.size > 0)) this.#explain(error);
    this.#leave(error);
    this.#wake(reconnectCheckMs);
  }

  /** Returns whether the server has evicted keys since the last probe. */
  #checkEvictions({ runId, evictedKeys, policy }: ServerState): boolean {
    const before = this.state.server;
    if (policy !== before?.policy && policy !== '' && policy !== 'noeviction')
      this.#log(
        'warn',
        { policy },
        'maxmemory-policy of Redis is not noeviction; keys that it evicts may be revocation markers',
      );
    if (before?.runId !== runId || evictedKeys <= before.evictedKeys) return false;
    if (!this.#isEvicting()) {
      this.#log(
        'warn',
        { policy, evicted_keys: evictedKeys - before.evictedKeys },
        'Redis evicts keys; auth verifies keys. Set maxmemory-policy to noeviction, or increase maxmemory',
      );
    }
    this.state.evictedAtMs = this.#nowMs;
    return true;
  }

  #isEvicting(): boolean {
    return this.#nowMs < this.state.evictedAtMs + this.#restMs;
  }

  /** Stops using the server. */
  #leave(err: unknown): void {
    const { state } = this;
    // The rights of a connected user may change: responses to commands, and to scripts that use them.
    if (/^NOPERM|ACL failure/.test(messageOf(err))) state.rights = 'unchecked';
    if (!state.isUsed) return;
    state.isUsed = false;
    const isRepeated = state.connection === 'ready' && this.#nowMs < state.returnedAtMs + this.#restMs;
    if (isRepeated) state.restUntilMs = this.#nowMs + this.#restMs;
    const restMs = state.restUntilMs - this.#nowMs;
    const rest = restMs > 0 ? { rest_seconds: Math.round(restMs / 1000) } : {};
    this.#log('warn', { err, ...rest }, 'stopped using Redis; limits are enforced locally and auth verifies keys');
    this.#wake(reconnectCheckMs);
  }

  /** Logs why Redis cannot be used, once per reason. */
  #explain(err: unknown): void {
    if (!this.#isNewReason(err)) return;
    this.#log('error', { err }, 'Redis cannot be used; limits are enforced locally and auth verifies keys');
  }

  #isNewReason(error: unknown): boolean {
    const { reasons } = this.state;
    const reason = messageOf(error);
    if (reasons.has(reason)) return false;
    this.state.reasons = new Set(reasons).add(reason);
    return true;
  }

  #wake(afterMs: number): void {
    this.effects.push({ kind: 'wake', afterMs });
  }

  #log(level: 'info' | 'warn' | 'error', fields: Readonly<Record<string, unknown>>, message: string): void {
    this.effects.push({ kind: 'log', level, fields, message });
  }
}

/** Whether a command failed because the connection had closed, for a reason that the client reports as an event. */
function isLost(error: unknown): boolean {
  return /^(?:Connection is closed|Stream isn't writeable)/.test(messageOf(error));
}

function messageOf(error: unknown): string {
  return (error as Error | undefined)?.message ?? '';
}
