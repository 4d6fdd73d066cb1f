import type { FieldViolation } from '@rms/base/errors';
import { parseHttpDate } from './http-date.ts';

export interface RetryPolicy {
  /** Retries after the first attempt. */
  readonly maxRetries: number;
  readonly initialDelayMs: number;
  readonly maxDelayMs: number;
  /** The delay before each retry. If set, it replaces the other fields. */
  readonly delaysMs?: readonly number[] | undefined;
}

/** Default, as documented in docs/webhook-receivers.md: 5 retries, after about 1 min, 5 min, 30 min, 2 h and 12 h. */
export const defaultRetryPolicy: RetryPolicy = { maxRetries: 5, initialDelayMs: 60_000, maxDelayMs: 12 * 3_600_000 };

/** Each delay relative to the first. Later delays grow by `lastFactor`. */
const multiples = [1, 5, 30, 120, 720];
const lastFactor = 6;
const jitter = 0.1;

const retriesLimit = 50;
const minDelayMs = 10;
const delayLimitMs = 7 * 24 * 3_600_000;
/** A longer Retry-After is capped, so that an endpoint cannot block its deliveries indefinitely. */
const maxRetryAfterMs = 24 * 3_600_000;

/**
 * Returns the delay after `tries` failed attempts of this round; undefined if there are no more retries.
 * @param retryAfterMs the delay that a 429 or 503 response requested; used if it is longer
 * @param random a number from 0 to 1
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
  return Math.round(Math.max(delayMs, Math.min(retryAfterMs, maxRetryAfterMs)));
}

/** Returns the delay before a retry, without jitter. `index` starts at 0. */
function plainDelayMs({ maxRetries, initialDelayMs, maxDelayMs, delaysMs }: RetryPolicy, index: number) {
  if (delaysMs) return delaysMs[index];
  if (index >= maxRetries) return undefined;
  const last = multiples.length - 1;
  const multiple = multiples[index] ?? (multiples[last] as number) * lastFactor ** (index - last);
  return Math.min(initialDelayMs * multiple, maxDelayMs);
}

/**
 * Parses Retry-After, in seconds or as an HTTP date (RFC 9110, 10.2.3), to milliseconds from now; undefined if invalid.
 */
export function parseRetryAfter(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header)) return Number(header) * 1000;
  const dateMs = parseHttpDate(header, nowMs);
  return dateMs === undefined ? undefined : Math.max(0, dateMs - nowMs);
}

export function checkRetryPolicy({ maxRetries, initialDelayMs, maxDelayMs, delaysMs }: RetryPolicy): FieldViolation[] {
  const violations: FieldViolation[] = [];
  if (delaysMs && delaysMs.length > retriesLimit) {
    violations.push({ field: 'delays', message: `must have at most ${retriesLimit} items` });
  }
  if (delaysMs?.some((delayMs) => delayMs < minDelayMs || delayMs > delayLimitMs)) {
    violations.push({ field: 'delays', message: 'must each be from 0.01 seconds to 7 days' });
  }
  if (maxRetries < 0 || maxRetries > retriesLimit) {
    violations.push({ field: 'max_retries', message: `must be 0 to ${retriesLimit}` });
  }
  if (initialDelayMs < minDelayMs || initialDelayMs > delayLimitMs) {
    violations.push({ field: 'initial_delay', message: 'must be from 0.01 seconds to 7 days' });
  }
  if (maxDelayMs < initialDelayMs || maxDelayMs > delayLimitMs) {
    violations.push({ field: 'max_delay', message: 'must be from the initial delay to 7 days' });
  }
  return violations;
}
