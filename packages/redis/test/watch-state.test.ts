import fc from 'fast-check';
import {
  initialState,
  isUsable,
  next,
  type WatchEffect,
  type WatchEvent,
  type WatchState,
} from '../src/watch-state.ts';

const restMs = 20_000;
const trustMs = 6_000;
/** Longest time between two probes, and usual and longest time of a probe. */
const watchMs = 1_000;
const responseMs = 10;
const probeMs = 4_000;
const confirmMs = 2_000;

/** A server. `lostAtMs` is when it last lost markers, or took over possibly without some. */
interface Server {
  runId: string;
  epoch: string;
  isPrimary: boolean;
  confirmedFor: string;
  confirmedUntilMs: number;
  evictedKeys: number;
  lostAtMs: number;
}

/** What the last probe that succeeded on the current connection has read. */
interface Reading extends Readonly<Server> {
  readonly atMs: number;
}

type Probe = Extract<WatchEffect, { kind: 'probe' }> & { readonly sinceMs: number };

/** Faster than expect(), which a history calls thousands of times. */
function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`does not hold: ${what}`);
}

/** Two servers that fail over, a client that connects to the primary, a gateway that caches principals, and a clock. */
class World {
  nowMs = 1_000;
  state: WatchState = initialState;
  reading: Reading | undefined;
  hasFailed = false;
  dueAtMs: number | undefined;
  probe: Probe | undefined;
  /** When the oldest cached principal was cached; undefined: none is cached. */
  cachedAtMs: number | undefined;
  trustedSinceMs: number | undefined;
  hasRights = true;
  isStalled = false;
  isConfirming = true;
  confirmedAtMs = 0;
  readonly uses: boolean[] = [];
  /** When a probe last saw that the server had evicted keys. */
  evictedAtMs = Number.NEGATIVE_INFINITY;
  #evicted = { runId: '', keys: 0 };
  #runs = 0;
  #epochs = 0;
  readonly #servers: [Server, Server] = [this.#start(true), this.#start(false)];
  #connected: Server | undefined;

  #start(isPrimary: boolean): Server {
    this.#runs += 1;
    const none = { epoch: '', confirmedFor: '', confirmedUntilMs: 0, evictedKeys: 0 };
    return { runId: `run ${this.#runs}`, isPrimary, lostAtMs: this.nowMs, ...none };
  }

  get primary(): Server {
    const [one, other] = this.#servers;
    return one.isPrimary ? one : other;
  }

  get isTrusted(): boolean {
    return this.nowMs < this.state.trustedUntilMs;
  }

  take(event: WatchEvent): void {
    const { state, effects } = next(this.state, event, this.nowMs, restMs);
    this.state = state;
    for (const effect of effects) {
      if (effect.kind === 'wake') this.dueAtMs = this.nowMs + effect.afterMs;
      else if (effect.kind === 'probe') this.probe = { ...effect, sinceMs: this.nowMs };
      else if (effect.kind === 'markers lost') this.cachedAtMs = undefined;
      else if (effect.kind === 'log' && /^(Redis is used|stopped)/.test(effect.message)) {
        this.uses.push(effect.message === 'Redis is used');
      }
    }
    this.check();
  }

  check(): void {
    this.trustedSinceMs = this.isTrusted ? (this.trustedSinceMs ?? this.nowMs) : undefined;
    const { reading, nowMs, state } = this;
    const isOpenProbe = this.probe !== undefined && this.probe.closed === state.closed;
    must(isOpenProbe || (this.dueAtMs !== undefined && this.dueAtMs <= nowMs + watchMs), 'the next probe is near');
    if (!isUsable(state)) return;
    must(!this.hasFailed, 'nothing has failed since the last probe');
    must(reading?.isPrimary === true, 'the server of this connection is a primary');
    must(nowMs - reading.atMs <= watchMs + probeMs, 'the last probe is recent');
    if (!this.isTrusted) return;
    must(reading.confirmedFor === reading.runId, 'the markers are confirmed for the run of this server');
    must(state.trustedUntilMs <= reading.confirmedUntilMs, 'the trust ends with the confirmation');
    must(nowMs >= this.evictedAtMs + restMs, 'no keys were evicted recently');
    const coveredSinceMs = Math.max(reading.lostAtMs, this.trustedSinceMs ?? 0);
    must((this.cachedAtMs ?? nowMs) >= coveredSinceMs, 'the markers cover all cached principals');
  }

  /** Time passes: probes get responses unless they stall, and auth confirms the markers if it runs. */
  wait(ms: number): void {
    const untilMs = this.nowMs + ms;
    while (this.nowMs < untilMs) {
      const respondsAtMs = (this.probe?.sinceMs ?? untilMs) + (this.isStalled ? probeMs : responseMs);
      const confirmsAtMs = this.isConfirming ? this.confirmedAtMs + confirmMs : untilMs;
      const dueAtMs = this.dueAtMs ?? untilMs;
      this.nowMs = Math.max(this.nowMs, Math.min(untilMs, respondsAtMs, confirmsAtMs, dueAtMs));
      if (this.isConfirming && this.nowMs >= confirmsAtMs) this.confirm();
      if (this.probe && this.nowMs >= respondsAtMs) this.respond(this.isStalled ? 'Redis did not respond' : undefined);
      if (this.nowMs >= dueAtMs && this.dueAtMs === dueAtMs) {
        this.dueAtMs = undefined;
        this.take({ kind: 'due' });
      }
      this.check();
    }
  }

  connect(isLoaded: boolean): void {
    if (this.#connected) return;
    this.#connected = this.primary;
    this.take({ kind: 'opened' });
    if (isLoaded) this.load();
  }

  load(): void {
    if (this.#connected && this.state.connection === 'open') this.take({ kind: 'ready' });
  }

  drop(): void {
    if (!this.#connected) return;
    this.#connected = undefined;
    this.reading = undefined;
    this.take({ kind: 'closed' });
  }

  /** Responds to the probe, even if its connection is closed: the response was on the way. */
  respond(failure?: string): void {
    const { probe } = this;
    if (!probe) return;
    const { closed } = probe;
    const server = failure === undefined ? this.#read(probe) : failure;
    this.probe = undefined;
    const isCurrent = closed === this.state.closed;
    if (isCurrent) this.hasFailed = typeof server === 'string';
    if (typeof server === 'string') return void this.take({ kind: 'probe failed', error: new Error(server), closed });
    if (isCurrent) {
      if (this.#evicted.runId === server.runId && server.evictedKeys > this.#evicted.keys)
        this.evictedAtMs = this.nowMs;
      this.#evicted = { runId: server.runId, keys: server.evictedKeys };
      this.reading = { ...server, atMs: this.nowMs };
    }
    const isConfirmed = server.confirmedFor === server.runId;
    const { runId, epoch, evictedKeys } = server;
    const trustedUntilMs = isConfirmed ? Math.min(server.confirmedUntilMs, this.nowMs + trustMs) : 0;
    const policy = evictedKeys > 0 ? 'allkeys-random' : '';
    this.take({ kind: 'probed', server: { runId, epoch, evictedKeys, members: 1, policy, trustedUntilMs }, closed });
  }

  /** Returns a probe's server, or its response's error. */
  #read({ checksRights, closed }: Probe): Server | string {
    const server = this.#connected ?? this.primary;
    const missing = this.hasRights ? undefined : new Error('the user may not run GET');
    if (checksRights) this.take({ kind: 'rights', missing, closed });
    if (missing) return checksRights ? missing.message : 'NOPERM this user has no permissions to run GET';
    if (!server.isPrimary) return "READONLY You can't write against a read only replica.";
    if (server.epoch === '') {
      this.#epochs += 1;
      server.epoch = `epoch ${this.#epochs}`;
    }
    return server;
  }

  /** Promotes the replica, with a copy of the keys that may lack the last markers. It takes longer than a probe. */
  failOver(): void {
    const { primary } = this;
    primary.isPrimary = false;
    this.wait(watchMs + probeMs);
    const promoted = primary === this.#servers[0] ? this.#servers[1] : this.#servers[0];
    const { epoch, confirmedFor, confirmedUntilMs } = primary;
    Object.assign(promoted, { epoch, confirmedFor, confirmedUntilMs, isPrimary: true, lostAtMs: this.nowMs });
  }

  restart(keepsData: boolean): void {
    const { primary } = this;
    this.#runs += 1;
    Object.assign(primary, { runId: `run ${this.#runs}`, evictedKeys: 0, lostAtMs: this.nowMs });
    if (!keepsData) this.flush();
    if (this.#connected === primary) this.drop();
  }

  flush(): void {
    Object.assign(this.primary, { epoch: '', confirmedFor: '', lostAtMs: this.nowMs });
  }

  evict(): void {
    Object.assign(this.primary, { evictedKeys: this.primary.evictedKeys + 1, lostAtMs: this.nowMs });
  }

  confirm(): void {
    this.confirmedAtMs = this.nowMs;
    Object.assign(this.primary, { confirmedFor: this.primary.runId, confirmedUntilMs: this.nowMs + trustMs });
  }

  cache(): void {
    this.cachedAtMs ??= this.nowMs;
  }

  fail(event: WatchEvent): void {
    if (event.kind === 'check failed' || this.state.isUsed) this.hasFailed = true;
    this.take(event);
  }
}

const errorOf = (message: string) => ({ error: new Error(message) });
const actions: Readonly<Record<string, (world: World) => void>> = {
  respond: (world) => world.respond(),
  'lose the response': (world) => world.respond('Connection is closed.'),
  'wait 10 ms': (world) => world.wait(10),
  'wait 500 ms': (world) => world.wait(500),
  'wait 2 s': (world) => world.wait(2_000),
  'wait 7 s': (world) => world.wait(7_000),
  'wait until the rest ends': (world) => world.wait(restMs),
  stall: (world) => void Object.assign(world, { isStalled: true }),
  resume: (world) => void Object.assign(world, { isStalled: false }),
  'stop auth': (world) => void Object.assign(world, { isConfirming: false }),
  'start auth': (world) => void Object.assign(world, { isConfirming: true }),
  confirm: (world) => world.confirm(),
  cache: (world) => world.cache(),
  connect: (world) => world.connect(true),
  'connect to a server that loads its data': (world) => world.connect(false),
  load: (world) => world.load(),
  drop: (world) => world.drop(),
  'fail over': (world) => world.failOver(),
  'restart with the data': (world) => world.restart(true),
  'restart empty': (world) => world.restart(false),
  flush: (world) => world.flush(),
  evict: (world) => world.evict(),
  revoke: (world) => void Object.assign(world, { hasRights: false }),
  grant: (world) => void Object.assign(world, { hasRights: true }),
  'be full': (world) => world.fail({ kind: 'check failed', ...errorOf('OOM command not allowed') }),
  'be slow': (world) => world.fail({ kind: 'check failed', ...errorOf('Redis did not respond within 250 ms') }),
  'be forbidden': (world) => world.fail({ kind: 'check failed', ...errorOf('NOPERM no permissions') }),
  'be a replica': (world) => world.fail({ kind: 'error', ...errorOf('READONLY it is a replica') }),
  'be unreachable': (world) => world.fail({ kind: 'error', ...errorOf('connect ECONNREFUSED') }),
};
const usual = ['wait 500 ms', 'wait 2 s', 'confirm', 'cache', 'connect', 'resume', 'grant', 'start auth', 'flush'];
const action = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...usual) },
  { weight: 1, arbitrary: fc.constantFrom(...Object.keys(actions)) },
);

test('in every history of failovers, only a server that was probed is used, and only confirmed markers are trusted', () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60, size: 'max' }), (history) => {
      const world = new World();
      world.connect(true);
      for (const name of history) actions[name]?.(world);
      // Uses and their ends alternate, so the log has one line per change.
      expect(world.uses.every((isUse, index) => isUse === (index % 2 === 0))).toBe(true);
      // A server that works is used and trusted after the rest.
      Object.assign(world, { hasRights: true, isStalled: false, isConfirming: true });
      world.drop();
      world.connect(true);
      world.wait(2 * restMs);
      expect(isUsable(world.state)).toBe(true);
      expect(world.isTrusted).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

test('a connection that is lost ends the use immediately, and drops the principals', () => {
  const world = new World();
  world.confirm();
  world.connect(true);
  world.respond();
  expect([isUsable(world.state), world.isTrusted]).toEqual([true, true]);
  world.cache();
  world.drop();
  expect(isUsable(world.state)).toBe(false);
  expect(world.cachedAtMs).toBeUndefined();
});

test('a watch that is stopped does nothing', () => {
  const stopped = next(initialState, { kind: 'stopped' }, 0, restMs).state;
  for (const event of [{ kind: 'opened' }, { kind: 'ready' }, { kind: 'due' }, { kind: 'closed' }] as const) {
    expect(next(stopped, event, 0, restMs)).toEqual({ state: stopped, effects: [] });
  }
});
