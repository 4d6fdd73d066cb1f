import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { type TenantScope, toScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { latencyQuantile } from '@rms/reporting/usage';
import { type Handlers, timestampFromMs } from '@rms/rpc';
import { toDelayReasonMessage } from '../delivery/delivery-message.ts';
import { type DelayReason, delayReasonOf } from '../delivery/log-filter.ts';
import { errorClasses } from '../engine/attempt/error-class.ts';
import {
  type CountName,
  countNames,
  eachError,
  eachLatency,
  type PeriodName,
  windowsAt,
} from '../health/count-queries.ts';
import type { HandlerParts } from './parts.ts';

/** The page size limit of ListWebhooks. */
const maxIds = 100;

export function batchGetWebhookHealth({
  pool,
  time,
}: HandlerParts): Handlers<typeof WebhooksService>['batchGetWebhookHealth'] {
  return async (request) => {
    const { ids } = request;
    if (ids.length < 1 || ids.length > maxIds) {
      throw new RmsError('invalid_request', { details: [{ field: 'ids', message: `must be 1 to ${maxIds}` }] });
    }
    const nowMs = await time.fresh();
    const healths = await readHealth(pool, toScope(request), [...new Set(ids)], nowMs);
    return { healths: healths.map(toHealthMessage) };
  };
}

/**
 * Converts a webhook's health to rms.webhooks.v1.WebhookHealth. A probe of an open circuit is the next attempt of
 * the webhook.
 */
function toHealthMessage(health: WebhookHealth) {
  const { id, failingSince, circuitOpenSince, unfinished, nextAttemptAt, delayReason, oldestAt, windows } = health;
  const nextAttemptTime = nextAttemptAt ? timestampFromDate(nextAttemptAt) : undefined;
  const openCircuit = circuitOpenSince && {
    openTime: timestampFromDate(circuitOpenSince),
    ...(nextAttemptTime ? { nextProbeTime: nextAttemptTime } : {}),
  };
  return {
    webhookId: id,
    ...(failingSince ? { failingSince: timestampFromDate(failingSince) } : {}),
    ...(openCircuit ? { openCircuit } : {}),
    ...(nextAttemptTime ? { nextAttemptTime } : {}),
    delayReason: toDelayReasonMessage(delayReason),
    ...(oldestAt ? { oldestPendingTime: timestampFromDate(oldestAt) } : {}),
    unfinished,
    windows: windows.map(toWindowMessage),
  };
}

function toWindowMessage({ startMs, errors, latencies, ...counts }: CountedWindow) {
  const counted = errors.map((count, place) => ({ class: errorClasses[place] ?? 'connection', count: BigInt(count) }));
  return {
    startTime: timestampFromMs(startMs),
    ...counts,
    p50Ms: latencyQuantile(latencies, 0.5),
    p95Ms: latencyQuantile(latencies, 0.95),
    errors: counted.filter(({ count }) => count > 0n).sort((a, b) => Number(b.count - a.count)),
  };
}

/** Counts of a webhook since a point in time; see `AttemptCounts`. */
interface CountedWindow extends Readonly<Record<CountName, bigint>> {
  readonly startMs: number;
  /** Counts by error class, in the order of error-class.ts. */
  readonly errors: readonly number[];
  /** Latency histogram with the bounds of @rms/usage. */
  readonly latencies: readonly number[];
}

interface WebhookHealth {
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
const maxInFlight = 1_000;

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
