import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { noLatencies } from '@rms/reporting/usage';
import { errorClasses } from '../engine/attempt/error-class.ts';

/** Lengths of the counting periods. The counts of each length are kept in a ring of `slots` slots. */
const periods = {
  five_minutes: { lengthMs: 5 * 60_000, slots: 14 },
  hour: { lengthMs: 3_600_000, slots: 26 },
} as const;

export type PeriodName = keyof typeof periods;
const periodNames = Object.keys(periods) as readonly PeriodName[];

/** Returns when the period that contains `atMs` starts. */
function periodStartMs(name: PeriodName, atMs: number): number {
  return atMs - (atMs % periods[name].lengthMs);
}

/** Returns the slot that stores a period's counts. */
function slotOf(name: PeriodName, atMs: number): number {
  const { lengthMs, slots } = periods[name];
  return Math.floor(atMs / lengthMs) % slots;
}

/** The reported time spans, and the periods that they are summed from. */
const spans = [
  { period: 'five_minutes', spanMs: 3_600_000 },
  { period: 'hour', spanMs: 24 * 3_600_000 },
] as const;

/**
 * Returns the windows that end now, shortest first. Each starts at a period boundary, so it is up to one period longer
 * than its span.
 */
export function windowsAt(nowMs: number): { readonly period: PeriodName; readonly startMs: number }[] {
  return spans.map(({ period, spanMs }) => ({ period, startMs: periodStartMs(period, nowMs - spanMs) }));
}

/** Names of the columns with one count. */
export const countNames = ['delivered', 'retried', 'failed', 'ended', 'canceled'] as const;
export type CountName = (typeof countNames)[number];

/** Returns zeros for all columns with one count. */
export function noCounts(): Record<CountName, number> {
  return { delivered: 0, retried: 0, failed: 0, ended: 0, canceled: 0 };
}

/**
 * Counts of a webhook: attempts (`delivered`, `retried`, `failed`), and deliveries without an attempt of their own that
 * failed (`ended`) or were canceled.
 */
export interface AttemptCounts extends Record<CountName, number> {
  /** Counts by error class, in the order of error-class.ts. */
  readonly errors: number[];
  /** Latency histogram with the bounds of @rms/usage. */
  readonly latencies: number[];
}

/** Counts of a webhook at a point in time. */
export interface CountsAt extends AttemptCounts, Tenant {
  readonly webhookId: string;
  readonly atMs: number;
}

/**
 * Returns SQL for an array with an explicit expression per element. It is several times faster than unnesting and
 * aggregating arrays.
 */
const each = (length: number) => (sqlOf: (index: number) => string) =>
  `array[${Array.from({ length: length }, (_, i) => sqlOf(i + 1)).join(', ')}]`;
export const eachError = each(errorClasses.length);
export const eachLatency = each(noLatencies().length);

interface Row extends CountsAt {
  readonly period: PeriodName;
  readonly startMs: number;
}

/**
 * Adds counts to the periods that contain them. A slot with an earlier period is reset. Counts are dropped if their
 * slot already contains a later period that is not in the future, or if their webhook was deleted. Rows are locked in
 * sorted order, so that instances cannot deadlock.
 */
export async function addAttemptCounts(db: Queryable, counts: readonly CountsAt[]): Promise<void> {
  const rows = rowsOf(counts);
  await db.query({
    name: 'add-attempt-counts',
    text: `
      insert into webhooks.attempt_counts as known (workspace_id, environment, webhook_id, period, slot, starts_at, errors,
                                                    latencies, ${countNames.join(', ')})
      select c.workspace_id, c.environment, c.webhook_id, c.period, c.slot, c.starts_at, c.errors::bigint[],
             c.latencies::bigint[], ${countNames.map((name) => `c.${name}`).join(', ')}
        from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::smallint[], $6::timestamptz[], $7::text[],
                    $8::text[], ${countNames.map((_, i) => `$${i + 9}::bigint[]`).join(', ')})
             as c (workspace_id, environment, webhook_id, period, slot, starts_at, errors, latencies,
                   ${countNames.join(', ')})
        join webhooks.webhooks as w
          on w.workspace_id = c.workspace_id and w.environment = c.environment and w.id = c.webhook_id
       order by c.workspace_id, c.environment, c.webhook_id, c.period, c.slot
          on conflict (workspace_id, environment, webhook_id, period, slot) do update
         set starts_at = excluded.starts_at,
             ${countNames.map((name) => `${name} = excluded.${name} + case when known.starts_at = excluded.starts_at then known.${name} else 0 end`).join(', ')},
             errors = case when known.starts_at = excluded.starts_at
                           then ${eachError((i) => `known.errors[${i}] + excluded.errors[${i}]`)}
                           else excluded.errors end,
             latencies = case when known.starts_at = excluded.starts_at
                              then ${eachLatency((i) => `known.latencies[${i}] + excluded.latencies[${i}]`)}
                              else excluded.latencies end
       where known.starts_at <= excluded.starts_at or known.starts_at > now() + interval '1 hour'`,
    values: [
      rows.map((row) => row.workspaceId),
      rows.map((row) => row.environment),
      rows.map((row) => row.webhookId),
      rows.map((row) => row.period),
      rows.map((row) => slotOf(row.period, row.startMs)),
      rows.map((row) => new Date(row.startMs)),
      rows.map((row) => `{${row.errors.join(',')}}`),
      rows.map((row) => `{${row.latencies.join(',')}}`),
      ...countNames.map((name) => rows.map((row) => row[name])),
    ],
  });
}

/** Adds later counts to earlier ones. */
export function addCounts(earlier: AttemptCounts, later: AttemptCounts): void {
  for (const name of countNames) earlier[name] += later[name];
  for (const name of ['errors', 'latencies'] as const) {
    for (const [i, count] of later[name].entries()) earlier[name][i] = (earlier[name][i] ?? 0) + count;
  }
}

/**
 * Merges counts into one row per slot, because a statement must not contain the same row twice. If two periods share a
 * slot, the later one wins.
 */
function rowsOf(counts: readonly CountsAt[]): Row[] {
  const rows = new Map<string, Row>();
  for (const one of counts) {
    for (const period of periodNames) {
      const startMs = periodStartMs(period, one.atMs);
      const key = `${one.webhookId} ${period} ${slotOf(period, startMs)}`;
      const before = rows.get(key);
      if (before?.startMs === startMs) addCounts(before, one);
      else if (!before || before.startMs < startMs)
        rows.set(key, { ...one, period, startMs, errors: [...one.errors], latencies: [...one.latencies] });
    }
  }
  return [...rows.values()];
}
