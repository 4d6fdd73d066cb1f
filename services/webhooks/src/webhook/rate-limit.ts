import type { FieldViolation } from '@rms/base/errors';

/** Limits of the attempts at a webhook's endpoint, for all instances together. */
export interface RateLimit {
  /** Concurrent attempts. */
  readonly maxConcurrency: number;
  /** Attempts per second, with fractions; undefined: no limit. */
  readonly requestsPerSecond: number | undefined;
}

export const defaultRateLimit: RateLimit = { maxConcurrency: 32, requestsPerSecond: undefined };

export function checkRateLimit({ maxConcurrency, requestsPerSecond }: RateLimit): FieldViolation[] {
  const violations: FieldViolation[] = [];
  if (!isWithin(maxConcurrency, 1, 1_000)) {
    violations.push({ field: 'rate_limit.max_concurrency', message: 'must be 1 to 1000' });
  }
  if (requestsPerSecond !== undefined && !isWithin(requestsPerSecond, 0.01, 10_000)) {
    violations.push({ field: 'rate_limit.requests_per_second', message: 'must be 0.01 to 10000' });
  }
  return violations;
}

/** Returns false for NaN. */
function isWithin(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}
