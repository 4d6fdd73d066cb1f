import type { Tenant } from '@rms/base/tenant';
import { noLatencies } from '@rms/reporting/usage';

/** Aggregation periods of the counts. */
export const periods = ['minute', 'hour', 'day', 'month'] as const;

export type Period = (typeof periods)[number];

/** Counts of requests, named like their columns in camel case. */
const requestNames = ['requests', 'admitted', 'clientErrors', 'serverErrors', 'rateLimited', 'quotaRefused'] as const;
/** The counts that groups of requests have. */
export const requestGroupNames = ['requests', 'clientErrors', 'serverErrors', 'rateLimited'] as const;
/** Counts of deliveries that groups have too. */
export const deliveryGroupNames = [
  'created',
  'delivered',
  'failed',
  'canceled',
  'skipped',
  'filtered',
  'attempts',
] as const;
const deliveryNames = [...deliveryGroupNames, 'failedAttempts'] as const;

/** Sums with a latency histogram; see @rms/reporting/usage. */
export type Sums<Name extends string> = Readonly<Record<Name, number>> & { readonly latencies: readonly number[] };

/** Sums of a group's requests in a period. */
export type RequestGroupSums = Sums<(typeof requestGroupNames)[number]>;

/** Sums of the requests in a period, and the quota as of the last report. A quota of 0 means no quota. */
export type RequestSums = Sums<(typeof requestNames)[number]> & { readonly monthlyQuota: number };

/** Sums of a group's deliveries in a period. `latencies` counts attempts. */
export type DeliveryGroupSums = Sums<(typeof deliveryGroupNames)[number]>;

/** Sums of the attempts and deliveries in a period. */
export type DeliverySums = Sums<(typeof deliveryNames)[number]>;

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

/** A group, and what its members have in common. */
export interface Group {
  readonly dimension: 'route' | 'status_class' | 'api_key_id' | 'event_type' | 'outcome';
  readonly name: string;
}

/** Counts of a group per process and minute. */
export type CountedRequestGroup = Tenant & Group & { readonly atMs: number } & RequestGroupSums;
export type CountedDeliveryGroup = Tenant &
  Group & { readonly atMs: number; readonly webhookId: string } & DeliveryGroupSums;

/** Counts with the period that they are added to. */
export type PeriodRow<T> = T & { readonly period: Period; readonly startMs: number };

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
 * Sums counts up into rows by tenant, key and period. Rows are unique, as the upsert requires, and sorted by key, so
 * that concurrent transactions do not deadlock.
 */
export function rowsOf<T extends Tenant & { readonly atMs: number }>(
  counted: readonly T[],
  keyOf: (one: T) => string,
  add: (one: T, other: T) => T,
  of: readonly Period[] = periods,
): PeriodRow<T>[] {
  const rows = new Map<string, PeriodRow<T>>();
  for (const one of counted) {
    for (const period of of) {
      const startMs = startOf(period, one.atMs);
      const key = [one.workspaceId, one.environment, keyOf(one), period, String(startMs).padStart(15, '0')].join('\n');
      const known = rows.get(key);
      rows.set(key, { ...(known ? add(known, one) : one), period, startMs });
    }
  }
  return [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

export function addRequests<T extends RequestSums>(one: T, other: RequestSums): T {
  return { ...addSums(one, other, requestNames), monthlyQuota: other.monthlyQuota };
}

export function addDeliveries<T extends DeliverySums>(one: T, other: DeliverySums): T {
  return addSums(one, other, deliveryNames);
}

/** Returns `one` with the sums of both. */
export function addSums<Name extends string, T extends Sums<Name>>(
  one: T,
  other: Sums<Name>,
  names: readonly Name[],
): T {
  const sums = Object.fromEntries(names.map((name) => [name, one[name] + other[name]]));
  const latencies = noLatencies().map((_, i) => (one.latencies[i] ?? 0) + (other.latencies[i] ?? 0));
  return { ...one, ...sums, latencies };
}

/** Returns zeros. */
export function noSums<Name extends string>(names: readonly Name[]): Sums<Name> {
  return { ...(Object.fromEntries(names.map((name) => [name, 0])) as Record<Name, number>), latencies: noLatencies() };
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
