import { LRUCache } from 'lru-cache';
import { gcraStep, monthOf, rateOf, rateState, wholeSeconds } from './gcra.ts';
import type { LimitCheck, LimitDecision, Limiter, LimiterOptions, LimitState } from './limiter.ts';

const maxKeys = 100_000;
const markTtlMs = 60 * 60 * 1000;

/** Limits and marks in the memory of one process, for npm start. Bounded: the keys used longest ago are forgotten. */
export function createMemoryLimiter(options: LimiterOptions & { now?: () => number }): Limiter {
  const { monthlyQuota, now = Date.now } = options;
  const rate = rateOf(options);
  const arrivals = new LRUCache<string, number>({ max: maxKeys });
  const used = new LRUCache<string, number>({ max: maxKeys });
  const revoked = new LRUCache<string, true>({ max: maxKeys, ttl: markTtlMs });

  const check = ({ workspaceId, environment, keyId }: LimitCheck): LimitDecision => {
    if (revoked.has(keyId)) return { outcome: 'revoked' };
    const nowMs = now();
    let rateNow: LimitState | undefined;
    let arrivalUs: number | undefined;
    if (rate) {
      const step = gcraStep(rate, arrivals.get(keyId) ?? 0, nowMs * 1000);
      rateNow = rateState(rate, step.remaining, step.resetUs);
      if (!step.allowed) {
        const retryAfterSeconds = wholeSeconds(step.retryAfterUs);
        return { outcome: 'rate_limited', rate: rateNow, quota: undefined, retryAfterSeconds };
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
        return { outcome: 'quota_exceeded', rate: rateNow, quota, retryAfterSeconds: endsInSeconds };
      }
      used.set(counter, count + 1);
    }
    if (arrivalUs !== undefined) arrivals.set(keyId, arrivalUs);
    return { outcome: 'allowed', rate: rateNow, quota };
  };

  return {
    check: async (request) => check(request),
    async markRevoked(keys) {
      for (const { keyId } of keys) revoked.set(keyId, true);
    },
    // Marks and the caches that rely on them end with the same process.
    onMarksLost: () => () => {},
    healthy: async () => true,
    async start() {},
    async stop() {},
  };
}
