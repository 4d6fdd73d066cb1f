import type { Tenant } from '@rms/base/tenant';
import { noLatencies } from '@rms/reporting/usage';

/** Aggregation periods of the counts. */
export const periods = ['minute', 'hour', 'day', 'month'] as const;

export type Period = (typeof periods)[number];

/** Sums of the requests in a period. */
export interface RequestSums {
  readonly requests: number;
  readonly admitted: number;
  readonly clientErrors: number;
  readonly serverErrors: number;
  readonly rateLimited: number;
  readonly quotaRefused: number;
  readonly latencies: readonly number[];
  /** Quota as of the last report. 0 means no quota. */
  readonly monthlyQuota: number;
}

/**
 * Sums of the attempts and ended deliveries in a period. `latencies` counts attempts by bucket, see
 * @rms/reporting/usage.
 */
export interface DeliverySums {
  readonly attempts: number;
  readonly failedAttempts: number;
  readonly delivered: number;
  readonly failed: number;
  readonly canceled: number;
  readonly latencies: readonly number[];
}

/** Counts per process and minute. */
export type CountedRequests = Tenant & { readonly atMs: number } & RequestSums;

export type CountedDeliveries = Tenant & {
  readonly atMs: number;
  readonly webhookId: string;
  /** URL of the last attempt; empty: unknown. */
  readonly url: string;
  /** Error of the last failed attempt; empty: unknown. */
  readonly lastError: string;
  /** Failed attempts since the last successful one in this report. */
  readonly failuresAtEnd: number;
} & DeliverySums;

/** Counts with the period that they are added to. */
export type PeriodRow<T> = T & { readonly period: Period; readonly startMs: number };

export const noRequests: RequestSums = {
  requests: 0,
  admitted: 0,
  clientErrors: 0,
  serverErrors: 0,
  rateLimited: 0,
  quotaRefused: 0,
  latencies: noLatencies(),
  monthlyQuota: 0,
};

export const noDeliveries: DeliverySums = {
  attempts: 0,
  failedAttempts: 0,
  delivered: 0,
  failed: 0,
  canceled: 0,
  latencies: noLatencies(),
};

/** Returns when the UTC period that contains `atMs` starts, shifted by `ahead` periods. */
export function startOf(period: Period, atMs: number, ahead = 0): number {
  const at = new Date(atMs);
  const [year, month, day] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate()];
  if (period === 'month') return Date.UTC(year, month + ahead);
  if (period === 'day') return Date.UTC(year, month, day + ahead);
  const lengthMs = period === 'hour' ? 3_600_000 : 60_000;
  return (Math.floor(atMs / lengthMs) + ahead) * lengthMs;
}

/**
 * Groups counts into rows by tenant, key and period. Rows are unique, as the upsert requires, and sorted by key, so
 * that concurrent transactions do not deadlock.
 */
export function rowsOf<T extends Tenant & { readonly atMs: number }>(
  counted: readonly T[],
  keyOf: (one: T) => string,
  add: (one: T, other: T) => T,
): PeriodRow<T>[] {
  const rows = new Map<string, PeriodRow<T>>();
  for (const one of counted) {
    for (const period of periods) {
      const startMs = startOf(period, one.atMs);
      const key = [one.workspaceId, one.environment, keyOf(one), period, String(startMs).padStart(15, '0')].join('\n');
      const known = rows.get(key);
      rows.set(key, { ...(known ? add(known, one) : one), period, startMs });
    }
  }
  return [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

export function addRequests<T extends RequestSums>(one: T, other: RequestSums): T {
  return {
    ...one,
    requests: one.requests + other.requests,
    admitted: one.admitted + other.admitted,
    clientErrors: one.clientErrors + other.clientErrors,
    serverErrors: one.serverErrors + other.serverErrors,
    rateLimited: one.rateLimited + other.rateLimited,
    quotaRefused: one.quotaRefused + other.quotaRefused,
    latencies: addLatencies(one.latencies, other.latencies),
    monthlyQuota: other.monthlyQuota,
  };
}

export function addDeliveries<T extends DeliverySums>(one: T, other: DeliverySums): T {
  return {
    ...one,
    attempts: one.attempts + other.attempts,
    failedAttempts: one.failedAttempts + other.failedAttempts,
    delivered: one.delivered + other.delivered,
    failed: one.failed + other.failed,
    canceled: one.canceled + other.canceled,
    latencies: addLatencies(one.latencies, other.latencies),
  };
}

function addLatencies(one: readonly number[], other: readonly number[]): number[] {
  return noLatencies().map((_, i) => (one[i] ?? 0) + (other[i] ?? 0));
}

/** The result of consecutive delivery attempts to one webhook. */
export interface Run extends Tenant {
  readonly webhookId: string;
  /** Consecutive failures at the end. If no attempt succeeded, only the failures of this report. */
  readonly failures: number;
  readonly lastAttemptMs: number;
  /** undefined if no attempt succeeded. */
  readonly lastSuccessMs: number | undefined;
  /** URL of the last attempt; empty: unknown. */
  readonly url: string;
  /** Error of the last failed attempt; empty: unknown. */
  readonly lastError: string;
}

/** Returns one run per webhook of a report. */
export function runsOf(counted: readonly CountedDeliveries[]): Run[] {
  const runs = new Map<string, Run>();
  for (const one of [...counted].sort((early, late) => early.atMs - late.atMs)) {
    const { workspaceId, environment, webhookId, url, lastError, failuresAtEnd, atMs } = one;
    const key = `${workspaceId}\n${environment}\n${webhookId}`;
    const before = runs.get(key);
    const wentWell = one.failedAttempts < one.attempts;
    runs.set(key, {
      workspaceId,
      environment,
      webhookId,
      failures: failuresAtEnd + (wentWell ? 0 : (before?.failures ?? 0)),
      lastAttemptMs: atMs,
      lastSuccessMs: wentWell ? atMs : before?.lastSuccessMs,
      url,
      lastError: lastError || (before?.lastError ?? ''),
    });
  }
  return [...runs.values()];
}

/** Period and number of points of each chart. The last point is the current period. */
export const spans = {
  hour: { period: 'minute', points: 60 },
  day: { period: 'hour', points: 24 },
  month: { period: 'day', points: 31 },
} as const satisfies Record<string, { period: Period; points: number }>;

export type Span = keyof typeof spans;

/** Returns the start of each point of a span, oldest first. */
export function pointsOf(span: Span, nowMs: number): number[] {
  const { period, points } = spans[span];
  return Array.from({ length: points }, (_, i) => startOf(period, nowMs, i + 1 - points));
}
