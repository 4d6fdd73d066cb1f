import type { FieldViolation } from '@rms/errors';

export interface RetryPolicy {
  /** Retries after the first attempt. */
  readonly maxRetries: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  /** The delay before each retry, as many as there are; in place of all of that. */
  readonly delaysMs?: readonly number[] | undefined;
}

/** Specification, "Limits": 5 retries. They come after about 1 min, 5 min, 30 min, 2 h and 12 h. */
export const defaultRetryPolicy: RetryPolicy = { maxRetries: 5, initialDelayMs: 60_000, maxDelayMs: 12 * 3_600_000 };

/** Each delay as a multiple of the first; further ones grow by the last factor. */
const multiples = [1, 5, 30, 120, 720];
const lastFactor = 6;
const jitter = 0.1;

const retriesLimit = 50;
const shortestDelayMs = 10;
const longestDelayMs = 7 * 24 * 3_600_000;
/** A Retry-After past this is cut, so that an endpoint can't park its deliveries for good. */
const longestRetryAfterMs = 24 * 3_600_000;

/**
 * When to try again after `tries` attempts of this round have failed; undefined: no more.
 * @param retryAfterMs what the endpoint asked for (429 or 503); waited for if it is longer
 * @param random 0 to 1
 */
export function nextDelayMs(
  policy: RetryPolicy,
  tries: number,
  retryAfterMs = 0,
  random = Math.random(),
): number | undefined {
  const plainMs = plainDelayMs(policy, tries - 1);
  if (plainMs === undefined) return undefined;
  const delayMs = plainMs * (1 - jitter + 2 * jitter * random);
  return Math.round(Math.max(delayMs, Math.min(retryAfterMs, longestRetryAfterMs)));
}

/** The delay before a retry, without jitter; counts from 0. */
function plainDelayMs({ maxRetries, initialDelayMs, maxDelayMs, delaysMs }: RetryPolicy, index: number) {
  if (delaysMs) return delaysMs[index];
  if (index >= maxRetries) return undefined;
  const last = multiples.length - 1;
  const multiple = multiples[index] ?? (multiples[last] as number) * lastFactor ** (index - last);
  return Math.min(initialDelayMs * multiple, maxDelayMs);
}

/** Retry-After in seconds or as an HTTP date (RFC 9110, 10.2.3), in milliseconds from now; undefined if it is neither. */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  // Date.parse takes far more for a date than HTTP does.
  const dateMs = header.endsWith(' GMT') ? Date.parse(header) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs);
}

export function checkRetryPolicy({ maxRetries, initialDelayMs, maxDelayMs, delaysMs }: RetryPolicy): FieldViolation[] {
  const violations: FieldViolation[] = [];
  if (delaysMs && delaysMs.length > retriesLimit) {
    violations.push({ field: 'delays', message: `must be at most ${retriesLimit}` });
  }
  if (delaysMs?.some((delayMs) => delayMs < shortestDelayMs || delayMs > longestDelayMs)) {
    violations.push({ field: 'delays', message: 'must each be 0.01 seconds to 7 days' });
  }
  if (maxRetries < 0 || maxRetries > retriesLimit) {
    violations.push({ field: 'max_retries', message: `must be 0 to ${retriesLimit}` });
  }
  if (initialDelayMs < shortestDelayMs || initialDelayMs > longestDelayMs) {
    violations.push({ field: 'initial_delay', message: 'must be 0.01 seconds to 7 days' });
  }
  if (maxDelayMs < initialDelayMs || maxDelayMs > longestDelayMs) {
    violations.push({ field: 'max_delay', message: 'must be the initial delay to 7 days' });
  }
  return violations;
}
