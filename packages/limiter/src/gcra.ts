import type { LimitState, Limits } from './limiter.ts';

/** A key's rate limit as the generic cell rate algorithm sees it: steady, with a burst of one whole window. */
export interface Rate {
  /** Requests that may come at once. */
  readonly burst: number;
  /** Microseconds that one request costs. */
  readonly emissionUs: number;
}

export function rateOf({ rateLimitRequests, rateLimitWindowSeconds }: Limits): Rate | undefined {
  if (rateLimitRequests === 0) return undefined;
  // Whole numbers, so that the burst is exact.
  const emissionUs = Math.max(1, Math.floor((rateLimitWindowSeconds * 1e6) / rateLimitRequests));
  return { burst: rateLimitRequests, emissionUs };
}

/** Failed authentications of one address. */
export function failureRateOf({ authFailureLimit }: { authFailureLimit: number }): Rate | undefined {
  return rateOf({ rateLimitRequests: authFailureLimit, rateLimitWindowSeconds: 60, monthlyQuota: 0 });
}

/** One step of the algorithm. `arrivalUs` is the stored theoretical arrival time, 0 if there is none. */
export function gcraStep({ burst, emissionUs }: Rate, arrivalUs: number, nowUs: number) {
  const earliestUs = Math.max(arrivalUs, nowUs);
  const nextUs = earliestUs + emissionUs;
  const allowAtUs = nextUs - emissionUs * burst;
  if (allowAtUs > nowUs) {
    return { allowed: false as const, remaining: 0, retryAfterUs: allowAtUs - nowUs, resetUs: earliestUs - nowUs };
  }
  const remaining = Math.floor((nowUs - allowAtUs) / emissionUs);
  return { allowed: true as const, arrivalUs: nextUs, remaining, resetUs: nextUs - nowUs };
}

export function rateState(rate: Rate, remaining: number, resetUs: number): LimitState {
  return { limit: rate.burst, remaining, resetSeconds: Math.ceil(resetUs / 1e6) };
}

/** Waiting so long is enough. */
export function wholeSeconds(us: number): number {
  return Math.max(1, Math.ceil(us / 1e6));
}

/** "202611" and the seconds until the next month begins, in UTC. */
export function monthOf(nowMs: number): { month: string; endsInSeconds: number } {
  const now = new Date(nowMs);
  const end = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  const month = `${now.getUTCFullYear()}${String(now.getUTCMonth() + 1).padStart(2, '0')}`;
  return { month, endsInSeconds: Math.max(1, Math.ceil((end - nowMs) / 1000)) };
}
