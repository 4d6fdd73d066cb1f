import { LRUCache } from 'lru-cache';
import { failureRateOf, gcraStep, monthOf, rateOf, rateState, wholeSeconds } from './gcra.ts';
import type { LimitCheck, LimitDecision, Limiter, LimiterOptions, LimitState } from './limiter.ts';

const maxKeys = 100_000;
const markTtlMs = 60 * 60 * 1000;

/** Limits and marks in the memory of one process, for npm start. Bounded: the keys used longest ago are forgotten. */
export function createMemoryLimiter(options: LimiterOptions & { now?: () => number }): Limiter {
  const { now = Date.now } = options;
  const failureRate = failureRateOf(options);
  const arrivals = new LRUCache<string, number>({ max: maxKeys });
  const failures = new LRUCache<string, number>({ max: maxKeys });
  const used = new LRUCache<string, number>({ max: maxKeys });
  const marks = new LRUCache<string, number>({ max: maxKeys, ttl: markTtlMs });

  const check = ({ workspaceId, environment, keyId, keyVersion, limits = options }: LimitCheck): LimitDecision => {
    const standing = (marks.get(keyId) ?? 0) > keyVersion ? 'changed' : 'current';
    const nowMs = now();
    const rate = rateOf(limits);
    const { monthlyQuota } = limits;
    let rateNow: LimitState | undefined;
    let arrivalUs: number | undefined;
    if (rate) {
      const step = gcraStep(rate, arrivals.get(keyId) ?? 0, nowMs * 1000);
      rateNow = rateState(rate, step.remaining, step.resetUs);
      if (!step.allowed) {
        const retryAfterSeconds = wholeSeconds(step.retryAfterUs);
        return { outcome: 'rate_limited', standing, rate: rateNow, quota: undefined, retryAfterSeconds };
      }
      arrivalUs = step.arrivalUs;
    }
    let quota: LimitState | undefined;
    if (monthlyQuota > 0) {
      const { month, endsInSeconds } = monthOf(nowMs);
      const counter = `${workspaceId}/${environment}/${month}`;
      const count = used.get(counter) ?? 0;
      const remaining = Math.max(0, monthlyQuota - count - 1);
      quota = { limit: monthlyQuota, remaining, resetSeconds: endsInSeconds };
      if (count >= monthlyQuota) {
        return { outcome: 'quota_exceeded', standing, rate: rateNow, quota, retryAfterSeconds: endsInSeconds };
      }
      used.set(counter, count + 1);
    }
    if (arrivalUs !== undefined) arrivals.set(keyId, arrivalUs);
    return { outcome: 'allowed', standing, rate: rateNow, quota };
  };

  return {
    check: async (request) => check(request),
    async countFailure(address) {
      if (!failureRate) return 0;
      const step = gcraStep(failureRate, failures.get(address) ?? 0, now() * 1000);
      if (!step.allowed) return wholeSeconds(step.retryAfterUs);
      failures.set(address, step.arrivalUs);
      return 0;
    },
    async mark(changes) {
      for (const { keyId, version } of changes) marks.set(keyId, Math.max(version, marks.get(keyId) ?? 0));
    },
    confirmMarks: (setAll) => setAll(),
    async raiseQuotas(uses) {
      for (const { workspaceId, environment, monthMs, used: count } of uses) {
        const counter = `${workspaceId}/${environment}/${monthOf(monthMs).month}`;
        used.set(counter, Math.max(count, used.get(counter) ?? 0));
      }
    },
    // Marks and the caches that rely on them end with the same process.
    onMarksLost: () => () => {},
    healthy: async () => true,
    async start() {},
    async stop() {},
  };
}
