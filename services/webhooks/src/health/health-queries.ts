import type { TenantScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { type DelayReason, delayReasonOf } from '../delivery/log-filter.ts';
import { type CountName, countNames, eachError, eachLatency } from './count-queries.ts';
import { type PeriodName, windowsAt } from './periods.ts';

/** Counts of a webhook since a point in time; see `AttemptCounts`. */
export interface CountedWindow extends Readonly<Record<CountName, bigint>> {
  readonly startMs: number;
  /** Counts by error class, in the order of error-class.ts. */
  readonly errors: readonly number[];
  /** Latency histogram with the bounds of @rms/usage. */
  readonly latencies: readonly number[];
}

export interface WebhookHealth {
  readonly id: string;
  readonly failingSince: Date | null;
  /** Null if the circuit is closed or the webhook is disabled. */
  readonly circuitOpenSince: Date | null;
  /** Number of unfinished deliveries, at most {@link maxInFlight}. */
  readonly unfinished: number;
  /** Time of the next attempt that the rate limit and the circuit allow; null if no delivery will be due. */
  readonly nextAttemptAt: Date | null;
  /** Why due deliveries are held; null if none is due, or they are about to be attempted. */
  readonly delayReason: DelayReason | null;
  /** Creation of the oldest of the first {@link maxInFlight} unfinished deliveries. */
  readonly oldestAt: Date | null;
  readonly windows: readonly CountedWindow[];
}

/** Counting stops here, because a backlog can be arbitrarily long. */
export const maxInFlight = 1_000;

interface Row extends Omit<WebhookHealth, 'windows'>, Readonly<Record<CountName, string>> {
  readonly period: PeriodName;
  /** Text form of a PostgreSQL array of counts. Elements are NULL if there is no row. */
  readonly errors: string;
  readonly latencies: string;
}

/**
 * Reads the health of webhooks, in the order of `ids`; missing webhooks are omitted. Reads at most forty rows of counts
 * and {@link maxInFlight} entries of the queue's index per webhook, regardless of the number of deliveries.
 *
 * That limit is a subquery, so that the planner does not know it. With a known limit, the planner would expect fewer
 * deliveries per webhook than the limit, and sort all of them instead of reading the index in order.
 */
export async function readHealth(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  ids: readonly string[],
  nowMs: number,
): Promise<WebhookHealth[]> {
  const windows = windowsAt(nowMs);
  const { rows } = await db.query<Row>({
    name: 'webhooks-read-health',
    text: `
      select w.id, w.failing_since as "failingSince",
             case when w.status = 'active' then e.open_since end as "circuitOpenSince",
             queue.size as "unfinished", queue.created_at as "oldestAt",
             case when queue.due_at is not null and e.paused is not true then greatest(queue.due_at, e.not_before) end as "nextAttemptAt",
             ${delayReasonOf('queue.due_at')} as "delayReason",
             win.period,
             ${countNames.map((name) => `sums.${name}`).join(', ')}, sums.errors, sums.latencies
        from unnest($3::text[]) with ordinality as requested (id, position)
        join webhooks.webhooks as w
          on w.workspace_id = $1 and w.environment = any($2) and w.id = requested.id
        left join webhooks.endpoints as e on e.webhook_id = w.id
       cross join lateral (
             select count(*)::integer as size, min(due_at) as due_at, min(created_at) as created_at
               from (select due_at, created_at from webhooks.deliveries as d
                      where d.webhook_id = w.id order by due_at limit (select ${maxInFlight})) as first
             ) as queue
       cross join unnest($4::text[], $5::timestamptz[]) with ordinality as win (period, starts_at, position)
       cross join lateral (
             select ${countNames.map((name) => `coalesce(sum(${name}), 0)::bigint as ${name}`).join(', ')},
                    ${eachError((i) => `sum(errors[${i}])::bigint`)}::text as errors,
                    ${eachLatency((i) => `sum(latencies[${i}])::bigint`)}::text as latencies
               from webhooks.attempt_counts as c
              where c.workspace_id = w.workspace_id and c.environment = w.environment and c.webhook_id = w.id
                and c.period = win.period and c.starts_at >= win.starts_at
             ) as sums
       order by requested.position, win.position`,
    values: [
      workspaceId,
      environments,
      ids,
      windows.map(({ period }) => period),
      windows.map(({ startMs }) => new Date(startMs)),
    ],
  });
  const found: WebhookHealth[] = [];
  for (let i = 0; i < rows.length; i += windows.length) {
    const ofOne = rows.slice(i, i + windows.length);
    const [first] = ofOne;
    if (!first) break;
    const { id, failingSince, circuitOpenSince, unfinished, nextAttemptAt, delayReason, oldestAt } = first;
    const counted = ofOne.map((row, at) => toWindow(row, windows[at]?.startMs ?? 0));
    found.push({
      id,
      failingSince,
      circuitOpenSince,
      unfinished,
      nextAttemptAt,
      delayReason,
      oldestAt,
      windows: counted,
    });
  }
  return found;
}

function toWindow(row: Row, startMs: number): CountedWindow {
  return {
    startMs,
    delivered: BigInt(row.delivered),
    retried: BigInt(row.retried),
    failed: BigInt(row.failed),
    ended: BigInt(row.ended),
    canceled: BigInt(row.canceled),
    errors: numbersOf(row.errors),
    latencies: numbersOf(row.latencies),
  };
}

function numbersOf(array: string): number[] {
  return array
    .slice(1, -1)
    .split(',')
    .map((text) => Number(text) || 0);
}
