import type { FieldViolation } from '@rms/base/errors';
import type { Tenant } from '@rms/base/tenant';
import { textProblem } from '@rms/base/value-rules';
import { eventTypes, isEventType } from '@rms/base/webhook-events';
import type { FilterGroup } from '@rms/base/webhook-filter';
import type { RetryPolicy } from './retry-policy.ts';

/** `paused`: it gets deliveries, and none is attempted. */
export type WebhookStatus = 'active' | 'paused' | 'disabled';
/** `manual`: by a user. `gone`: the endpoint responded 410. `failing`: it failed for too long. */
export type DisableReason = 'manual' | 'gone' | 'failing';

/** A URL's subscription to events. */
export interface Webhook extends Tenant {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly status: WebhookStatus;
  /** Set if the webhook is disabled. */
  readonly disableReason: DisableReason | undefined;
  /** Set if the webhook is paused. */
  readonly pausedAt: Date | undefined;
  readonly secretSealed: Buffer;
  readonly secretVersion: number;
  /** Previous secret, which also signs deliveries until `previousSecretUntil`. */
  readonly previousSecretSealed: Buffer | undefined;
  readonly previousSecretUntil: Date | undefined;
  /** Client certificate (PEM) that is presented to the endpoint. */
  readonly clientCertificate: string | undefined;
  readonly clientKeySealed: Buffer | undefined;
  /** Whether deliveries of the same resource are sent one at a time, in event order. */
  readonly ordered: boolean;
  /** At most 500 characters; empty: none. */
  readonly description: string;
  readonly retryPolicy: RetryPolicy;
  /** Custom headers of every request, without the secret ones. */
  readonly headers: Readonly<Record<string, string>>;
  /** Names of the headers with secret values. */
  readonly secretHeaders: readonly string[];
  readonly secretHeadersSealed: Buffer | undefined;
  /** Another header with the value of X-Service-Signature. */
  readonly signatureAlias: string | undefined;
  /** Condition that events must meet. */
  readonly filter: FilterGroup | undefined;
  /** Within this time, the complete response must arrive. */
  readonly timeoutMs: number;
  readonly rateLimit: RateLimit;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** Returns a webhook's fields that depend on its status. `at` is the time of change. */
export function withStatus(before: Webhook | undefined, status: WebhookStatus, at: Date) {
  return {
    status,
    disableReason: status === 'disabled' ? (before?.disableReason ?? ('manual' as const)) : undefined,
    pausedAt: status === 'paused' ? (before?.pausedAt ?? at) : undefined,
  };
}

/** Returns a webhook's version: the time of its last change in milliseconds. Every change increases it. */
export function versionOf({ updatedAt }: Webhook): number {
  return updatedAt.getTime();
}

/** Returns a change's time: now, but later than the previous change even if the clocks of two instances differ. */
export function changeTime({ updatedAt }: Webhook, nowMs = Date.now()): Date {
  return new Date(Math.max(nowMs, updatedAt.getTime() + 1));
}

export const timeoutLimits = { leastMs: 1_000, mostMs: 30_000, defaultMs: 10_000 } as const;

/** Validates a timeout. */
export function checkTimeout(timeoutMs: number): FieldViolation[] {
  const { leastMs, mostMs } = timeoutLimits;
  return timeoutMs >= leastMs && timeoutMs <= mostMs ? [] : [{ field: 'timeout', message: 'must be 1 to 30 seconds' }];
}

const descriptionLimit = 500;

/** Validates a description: at most 500 Unicode code points that PostgreSQL can store. */
export function checkDescription(text: string): FieldViolation[] {
  const field = 'description';
  const problem = textProblem(text, 0, descriptionLimit);
  return problem ? [{ field, message: problem }] : [];
}

/** Validates event types: at least one known type, without duplicates; or only "*". */
export function checkEvents(events: readonly string[]): FieldViolation[] {
  if (events.length === 0) return [{ field: 'events', message: 'must contain at least one event type' }];
  if (events.includes('*')) {
    return events.length === 1 ? [] : [{ field: 'events', message: '"*" must be the only event type' }];
  }
  const violations = events.flatMap((type, i) =>
    isEventType(type) ? [] : [{ field: `events.${i}`, message: `must be "*" or one of ${eventTypes.join(', ')}` }],
  );
  if (new Set(events).size < events.length)
    violations.push({ field: 'events', message: 'must not contain duplicates' });
  return violations;
}

const retriesLimit = 50;
const minDelayMs = 10;
const delayLimitMs = 7 * 24 * 3_600_000;

/** Validates a retry policy. */
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
