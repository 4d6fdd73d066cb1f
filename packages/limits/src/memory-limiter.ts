import { LRUCache } from 'lru-cache';
import { appliedLimits, failureRateOf, gcraStep, monthOf, type Rate, rateState, wholeSeconds } from './limit-check.ts';
import {
  type KeyChange,
  type LimitCheck,
  type LimitDecision,
  type Limiter,
  type LimiterOptions,
  type LimitState,
  markerTtlMs,
} from './limiter.ts';

/** Keys per map. With `max` instead, LRUCache would allocate all entries at the start. */
const bound = { maxSize: 100_000, sizeCalculation: () => 1 };

/**
 * Creates a limiter in a process's memory, for npm start and outages of Redis. Memory is bounded: the least
 * recently used of 100,000 entries of a kind is evicted. That ends no limit early: an evicted rate limit has not been
 * used while 100,000 other keys were, which takes longer than its window, because a workspace has at most 1,000 valid
 * keys and creating others needs commits. A client that evicts its count of failures needs 100,000 addresses, each of
 * which has its own limit. An evicted marker is needed for at most the 30 seconds that gateways cache verdicts.
 */
export function createMemoryLimiter(options: LimiterOptions & { now?: () => number }): Limiter {
  // Rate limits need only durations, so they use the monotonic clock; the quota needs the date.
  const { now = Date.now, now: elapsedMs = () => performance.now() } = options;
  // An integer: fractions would be rounded differently in sums and differences, so that a full burst could be refused.
  const elapsedUs = () => Math.floor(elapsedMs() * 1000);
  const failureRate = failureRateOf(options);
  const arrivals = new LRUCache<string, number>(bound);
  const failures = new LRUCache<string, number>(bound);
  const used = new LRUCache<string, number>(bound);
  const markers = new LRUCache<string, number>({ ...bound, ttl: markerTtlMs });

  const check = (request: LimitCheck): LimitDecision => {
    const { workspaceId, environment, keyId, keyVersion, refused } = request;
    const freshness = (markers.get(keyId) ?? 0) > keyVersion ? 'changed' : 'current';
    const nowMs = now();
    const { rates, quota: monthlyQuota } = appliedLimits(request, options);
    const { own, workspace } = rates;
    const step = (rate: Rate | undefined, key: string) =>
      rate && { key, ...gcraStep(rate, arrivals.get(key) ?? 0, elapsedUs()) };
    const steps = {
      own: step(own, refused ? `refused/${keyId}` : keyId),
      workspace: step(workspace, `${workspaceId}/${environment}`),
    };
    const rate = own && steps.own && rateState(own, steps.own.remaining, steps.own.resetUs);
    const workspaceRate =
      workspace && steps.workspace && rateState(workspace, steps.workspace.remaining, steps.workspace.resetUs);
    const common = { freshness, rate, workspaceRate } as const;
    const taken = [steps.own, steps.workspace].filter((one) => one !== undefined);
    const exceeded = taken.filter((one) => !one.allowed);
    if (exceeded.length > 0) {
      for (const { key, arrivalUs } of exceeded) arrivals.set(key, arrivalUs);
      const retryAfterSeconds = wholeSeconds(Math.max(...exceeded.map(({ retryAfterUs }) => retryAfterUs)));
      return { ...common, outcome: 'rate_limited', quota: undefined, retryAfterSeconds };
    }
    let quota: LimitState | undefined;
    if (monthlyQuota > 0) {
      const { month, endsInSeconds } = monthOf(nowMs);
      const counter = `${workspaceId}/${environment}/${month}`;
      const count = used.get(counter) ?? 0;
      const remaining = Math.max(0, monthlyQuota - count - 1);
      quota = { limit: monthlyQuota, remaining, resetSeconds: endsInSeconds };
      if (count >= monthlyQuota) {
        return { ...common, outcome: 'quota_exceeded', quota, retryAfterSeconds: endsInSeconds };
      }
      used.set(counter, count + 1);
    }
    for (const { key, arrivalUs } of taken) arrivals.set(key, arrivalUs);
    return { ...common, outcome: 'allowed', quota };
  };

  const setAll = (changes: readonly KeyChange[]) => {
    for (const { keyId, version } of changes) markers.set(keyId, Math.max(version, markers.get(keyId) ?? 0));
  };

  return {
    check: async (request) => check(request),
    async countFailure(address) {
      if (!failureRate) return 0;
      const step = gcraStep(failureRate, failures.get(address) ?? 0, elapsedUs());
      failures.set(address, step.arrivalUs);
      return step.allowed ? 0 : wholeSeconds(step.retryAfterUs);
    },
    nowMs: now,
    setMarkers: async (changes) => setAll(changes),
    confirmMarkers: (pending) =>
      pending(async (changes) => {
        setAll(changes);
        return changes;
      }),
    // Trust in markers does not expire here. A confirmation only deletes the pending markers of a killed process.
    confirmEveryMs: 60_000,
    async raiseQuotas(uses) {
      for (const { workspaceId, environment, monthMs, used: count } of uses) {
        const counter = `${workspaceId}/${environment}/${monthOf(monthMs).month}`;
        used.set(counter, Math.max(count, used.get(counter) ?? 0));
      }
    },
    // Markers and the caches that rely on them are lost together when the process ends.
    onMarkersLost: () => () => {},
    healthy: async () => true,
    async start() {},
    async stop() {},
  };
}

/**
 * The limits during an outage of Redis: each of `members` gateways grants an equal share of them, and does not count the
 * quota.
 */
export class LocalShare {
  readonly #options: LimiterOptions;
  readonly #members: () => number;
  #current: { readonly members: number; readonly limiter: Limiter };

  constructor(options: LimiterOptions, members: () => number) {
    this.#options = options;
    this.#members = members;
    this.#current = { members: 0, limiter: createMemoryLimiter(options) };
  }

  check(check: LimitCheck): Promise<LimitDecision> {
    const { members, limiter } = this.#share();
    const { rateLimitRequests, workspaceRateLimitRequests, rateLimitWindowSeconds } = check.limits ?? this.#options;
    const limits = {
      rateLimitRequests: shareOf(rateLimitRequests, members),
      workspaceRateLimitRequests: shareOf(workspaceRateLimitRequests, members),
      rateLimitWindowSeconds,
      monthlyQuota: 0,
    };
    return limiter.check({ ...check, limits });
  }

  countFailure(address: string): Promise<number> {
    return this.#share().limiter.countFailure(address);
  }

  /** Returns the limiter for the present number of gateways. */
  #share() {
    const members = this.#members();
    if (this.#current.members !== members) {
      const authFailureLimit = shareOf(this.#options.authFailureLimit, members);
      this.#current = { members, limiter: createMemoryLimiter({ ...this.#options, authFailureLimit }) };
    }
    return this.#current;
  }
}

function shareOf(limit: number, members: number): number {
  return limit === 0 ? 0 : Math.ceil(limit / members);
}
