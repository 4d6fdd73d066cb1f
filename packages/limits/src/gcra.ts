import type { LimitCheck, LimitState, Limits } from './limiter.ts';

/** A rate limit in terms of the generic cell rate algorithm (GCRA): a steady rate with a burst of a window. */
export interface Rate {
  /** Requests that may arrive together. */
  readonly burst: number;
  /** Cost of a request in microseconds. */
  readonly emissionUs: number;
}

/** Returns the rate of `requests` per window; undefined for 0, which means no limit. */
function rateOf(requests: number, windowSeconds: number): Rate | undefined {
  if (requests === 0) return undefined;
  // An integer, so that the burst is exact.
  const emissionUs = Math.max(1, Math.floor((windowSeconds * 1e6) / requests));
  return { burst: requests, emissionUs };
}

/** The rate limits that apply to a request. */
export interface Rates {
  /** Limit of the key. */
  readonly own: Rate | undefined;
  /** Limit of the workspace and environment. */
  readonly workspace: Rate | undefined;
}

/** Returns the limits that a check applies. The rate limits of a key and of its workspace share one window. */
export function appliedLimits({ limits, refused }: Pick<LimitCheck, 'limits' | 'refused'>, otherwise: Limits) {
  const { rateLimitRequests, workspaceRateLimitRequests, rateLimitWindowSeconds, monthlyQuota } = limits ?? otherwise;
  const rates: Rates = {
    own: rateOf(rateLimitRequests, rateLimitWindowSeconds),
    workspace: refused ? undefined : rateOf(workspaceRateLimitRequests, rateLimitWindowSeconds),
  };
  return { rates, quota: refused ? 0 : monthlyQuota };
}

/** Returns the rate limit for failed authentications per address. */
export function failureRateOf({ authFailureLimit }: { authFailureLimit: number }): Rate | undefined {
  return rateOf(authFailureLimit, 60);
}

/**
 * Computes one step of the algorithm. `arrivalUs` is the stored theoretical arrival time, 0 if no state is stored. A
 * time later than a full burst from now means that the clock was set back; that bound replaces it. `arrivalUs` of the
 * result must be stored, even if the request is rejected. check-script.ts does the same on Redis.
 */
export function gcraStep({ burst, emissionUs }: Rate, arrivalUs: number, nowUs: number) {
  const earliestUs = Math.max(Math.min(arrivalUs, nowUs + emissionUs * burst), nowUs);
  const nextUs = earliestUs + emissionUs;
  const allowAtUs = nextUs - emissionUs * burst;
  if (allowAtUs > nowUs) {
    const [retryAfterUs, resetUs] = [allowAtUs - nowUs, earliestUs - nowUs];
    return { allowed: false as const, arrivalUs: earliestUs, remaining: 0, retryAfterUs, resetUs };
  }
  const remaining = Math.floor((nowUs - allowAtUs) / emissionUs);
  return { allowed: true as const, arrivalUs: nextUs, remaining, retryAfterUs: 0, resetUs: nextUs - nowUs };
}

/** Describes a rate limit after a step. The time until the full burst is available is rounded up to seconds. */
export function rateState(rate: Rate, remaining: number, resetUs: number): LimitState {
  return { limit: rate.burst, remaining, resetSeconds: Math.ceil(resetUs / 1e6) };
}

/** Converts microseconds to seconds, rounded up, at least 1. */
export function wholeSeconds(us: number): number {
  return Math.max(1, Math.ceil(us / 1e6));
}

/** Returns the month as "202611" and the seconds until the next month, in UTC. */
export function monthOf(nowMs: number): { month: string; endsInSeconds: number } {
  const now = new Date(nowMs);
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const month = `${now.getUTCFullYear()}${String(now.getUTCMonth() + 1).padStart(2, '0')}`;
  return { month, endsInSeconds: Math.max(1, Math.ceil((end - nowMs) / 1000)) };
}
