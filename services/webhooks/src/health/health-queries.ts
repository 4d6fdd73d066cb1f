import type { Queryable } from '@rms/db';
import type { WebhookScope } from '../subscription/webhook-queries.ts';
import { eachError, eachLatency } from './count-queries.ts';
import { type PeriodName, windowsAt } from './periods.ts';

/** What attempts at a webhook came to since a moment. */
export interface CountedWindow {
  readonly startMs: number;
  readonly delivered: bigint;
  readonly retried: bigint;
  readonly failed: bigint;
  /** By error-class.ts. */
  readonly errors: readonly number[];
  /** By the bounds of @rms/usage. */
  readonly latencies: readonly number[];
}

export interface WebhookHealth {
  readonly id: string;
  readonly failingSince: Date | null;
  /** Null: it is closed, or the webhook is disabled. */
  readonly circuitOpenSince: Date | null;
  /** Deliveries that have not ended, {@link mostUnderWay} at most. */
  readonly underWay: number;
  /** When the first of them is due; null: none is. */
  readonly nextDueAt: Date | null;
  readonly windows: readonly CountedWindow[];
}

/** More are not counted: a backlog has no end. */
export const mostUnderWay = 1_000;

interface Row extends Omit<WebhookHealth, 'windows'> {
  readonly period: PeriodName;
  readonly delivered: string;
  readonly retried: string;
  readonly failed: string;
  /** Counts in PostgreSQL's text of an array, each NULL where there is no row. */
  readonly errors: string;
  readonly latencies: string;
}

/**
 * The health of webhooks, in the order of their ids as they are named; those that are not there are left out. Reads at most
 * forty rows of counts and {@link mostUnderWay} entries of the queue's index for each, however much was delivered.
 */
export async function readHealth(
  db: Queryable,
  { workspaceId, environments }: WebhookScope,
  ids: readonly string[],
  nowMs: number,
): Promise<WebhookHealth[]> {
  const windows = windowsAt(nowMs);
  const { rows } = await db.query<Row>({
    name: 'webhooks-read-health',
    text: `
      select w.id, w.failing_since as "failingSince",
             case when w.status = 'active' then w.circuit_open_since end as "circuitOpenSince",
             queue.size as "underWay", queue.due_at as "nextDueAt", win.period,
             sums.delivered, sums.retried, sums.failed, sums.errors, sums.latencies
        from unnest($3::text[]) with ordinality as asked (id, place)
        join webhooks.webhooks as w
          on w.workspace_id = $1 and w.environment = any($2) and w.id = asked.id
       cross join lateral (
             select count(*)::integer as size, min(due_at) as due_at
               from (select due_at from webhooks.deliveries as d
                      where d.webhook_id = w.id order by due_at limit ${mostUnderWay}) as first
             ) as queue
       cross join unnest($4::text[], $5::timestamptz[]) with ordinality as win (period, starts_at, place)
       cross join lateral (
             select coalesce(sum(delivered), 0)::bigint as delivered, coalesce(sum(retried), 0)::bigint as retried,
                    coalesce(sum(failed), 0)::bigint as failed,
                    ${eachError((i) => `sum(errors[${i}])::bigint`)}::text as errors,
                    ${eachLatency((i) => `sum(latencies[${i}])::bigint`)}::text as latencies
               from webhooks.attempt_counts as c
              where c.workspace_id = w.workspace_id and c.environment = w.environment and c.webhook_id = w.id
                and c.period = win.period and c.starts_at >= win.starts_at
             ) as sums
       order by asked.place, win.place`,
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
    const { id, failingSince, circuitOpenSince, underWay, nextDueAt } = first;
    const counted = ofOne.map((row, at) => toWindow(row, windows[at]?.startMs ?? 0));
    found.push({ id, failingSince, circuitOpenSince, underWay, nextDueAt, windows: counted });
  }
  return found;
}

function toWindow({ delivered, retried, failed, errors, latencies }: Row, startMs: number): CountedWindow {
  return {
    startMs,
    delivered: BigInt(delivered),
    retried: BigInt(retried),
    failed: BigInt(failed),
    errors: numbersOf(errors),
    latencies: numbersOf(latencies),
  };
}

function numbersOf(array: string): number[] {
  return array
    .slice(1, -1)
    .split(',')
    .map((text) => Number(text) || 0);
}
