import { inTransaction, type Pool, type Queryable } from '@rms/db';
import type { Environment, WebhookStatus } from '../subscription/webhook.ts';
import type { WebhookScope } from '../subscription/webhook-queries.ts';
import type { LoggedAttempt } from './attempt.ts';
import { Conditions, type LogFilter, type LoggedStatus, type LogSource, sourcesOf } from './log-filter.ts';

export interface LoggedDelivery {
  readonly workspaceId: string;
  readonly environment: Environment;
  readonly id: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly webhookId: string;
  readonly resourceId: string;
  readonly requestId: string;
  readonly status: LoggedStatus;
  readonly origin: string;
  readonly createdAt: Date;
  readonly dueAt: Date | null;
  readonly attempts: readonly LoggedAttempt[];
}

export interface LogPage {
  readonly deliveries: LoggedDelivery[];
  /** Where to go on; undefined: there are no more. */
  readonly next: string | undefined;
}

/**
 * Rows that are read for a page at most. A filter that few of them pass gives a short page, and where to go on: no
 * question reads the whole log.
 */
const readAtMost = 5_000;
/** And events, of those of a resource. */
const eventsAtMost = 200;

/** SQL of the status of a delivery of a source. */
export const statusOf: Readonly<Record<LogSource, string>> = {
  deliveries: `case when tries > 0 then 'retrying' else 'pending' end`,
  delivery_log: 'status',
};
const columns: Readonly<Record<LogSource, string>> = {
  deliveries: `${statusOf.deliveries} as status, due_at as "dueAt"`,
  delivery_log: `${statusOf.delivery_log}, null as "dueAt"`,
};
const common = `workspace_id as "workspaceId", environment, id, event_id as "eventId", event_type as "eventType",
            webhook_id as "webhookId", resource_id as "resourceId", request_id as "requestId", origin,
            created_at as "createdAt", attempts`;

/**
 * Deliveries, newest first, each with all its attempts. All is read from one snapshot: a delivery that goes from the queue
 * into the log, or back, is there once.
 */
export function readDeliveries(pool: Pool, scope: WebhookScope, filter: LogFilter, limit: number): Promise<LogPage> {
  return inTransaction(pool, async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only');
    return readPage(tx, scope, filter, limit);
  });
}

async function readPage(tx: Queryable, scope: WebhookScope, filter: LogFilter, limit: number): Promise<LogPage> {
  const byEvent = filter.requestId !== undefined || filter.eventId !== undefined || filter.resourceId !== undefined;
  const read = byEvent ? readByEvents : readRange;
  const parts: LogPage[] = [];
  for (const source of sourcesOf(filter)) parts.push(await read(tx, source, scope, filter, limit));
  // Below the lowest id that all sources have been read to, nothing is known.
  const readTo =
    parts
      .map(({ next }) => next ?? '')
      .sort()
      .at(-1) ?? '';
  const found = parts
    .flatMap(({ deliveries }) => deliveries)
    .filter(({ id }) => id >= readTo)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  const deliveries = found.slice(0, limit);
  const next = found.length > limit ? deliveries.at(-1)?.id : readTo || undefined;
  return { deliveries, next };
}

/** Reads one range of one index of each environment. */
async function readRange(
  db: Queryable,
  source: LogSource,
  scope: WebhookScope,
  filter: LogFilter,
  limit: number,
): Promise<LogPage> {
  const conditions = new Conditions(scope, filter, source);
  conditions.addOthers(filter, source);
  const { indexed, others, values } = conditions;
  const readLimit = others.length > 0 ? readAtMost : limit + 1;
  // The innermost limit bounds what is read, the next one stops reading once the page is full.
  const { rows } = await db.query<LoggedDelivery>(
    `select ${common}, ${columns[source]}
       from (
              select found.* from unnest($2::text[]) as scope (environment)
               cross join lateral (
                     select * from (
                              select * from webhooks.${source} as d
                               where d.environment = scope.environment and ${indexed.join(' and ')}
                               order by d.id desc limit ${conditions.place(readLimit)}
                            ) as d
                      ${others.length > 0 ? `where ${others.join(' and ')}` : ''}
                      order by d.id desc limit ${conditions.place(limit + 1)}
                     ) as found
            ) as found
      order by id desc limit ${conditions.place(limit + 1)}`,
    values,
  );
  if (others.length === 0 || rows.length > limit) return { deliveries: rows, next: rows[limit]?.id };
  return { deliveries: rows, next: await lowestRead(db, source, scope, filter) };
}

/** The id that a read which was cut has come to; undefined if it was not cut. */
async function lowestRead(db: Queryable, source: LogSource, scope: WebhookScope, filter: LogFilter) {
  const conditions = new Conditions(scope, filter, source);
  const { rows } = await db.query<{ id: string | null }>(
    `select max(d.id) as id from unnest($2::text[]) as scope (environment)
      cross join lateral (
            select id from webhooks.${source} as d
             where d.environment = scope.environment and ${conditions.indexed.join(' and ')}
             order by d.id desc offset ${conditions.place(readAtMost - 1)} limit 1
           ) as d`,
    conditions.values,
  );
  return rows[0]?.id ?? undefined;
}

/** From an event to its deliveries by the primary key: an event's time leads the ids of its deliveries. */
export const deliveriesOfEvent = `d.workspace_id = e.workspace_id and d.environment = e.environment
            and d.id >= 'dlv_' || substr(e.id, 5, 10) and d.id < 'dlv_' || substr(e.id, 5, 10) || '~'
            and d.event_id = e.id`;

/**
 * Those of the events of a request or a resource, or of one event: from the newest event on, each with its deliveries. An
 * event's time leads the ids of its deliveries, so that both are in one order, but for events of the same millisecond.
 */
async function readByEvents(
  db: Queryable,
  source: LogSource,
  scope: WebhookScope,
  filter: LogFilter,
  limit: number,
): Promise<LogPage> {
  const conditions = new Conditions(scope, filter, source);
  conditions.addOthers(filter, source);
  const { rows } = await db.query<LoggedDelivery & { eventsRead: number; lastRead: string }>(
    `with events as materialized (
       select e.* from unnest($2::text[]) as scope (environment)
        cross join lateral (
              select workspace_id, environment, id from webhooks.events as e
               where e.environment = scope.environment and ${conditions.ofEvents(filter).join(' and ')}
               order by e.id desc limit ${conditions.place(eventsAtMost)}
             ) as e
        order by e.id desc limit ${conditions.place(eventsAtMost)}
     )
     select ${common}, ${columns[source]}, "eventsRead", "lastRead"
       from (select count(*)::integer as "eventsRead", min(id) as "lastRead" from events) as read
       left join (
              select d.* from events as e
               cross join lateral (
                     select d.* from webhooks.${source} as d
                      where ${[deliveriesOfEvent, ...conditions.indexed, ...conditions.others].join(' and ')}
                      offset 0
                    ) as d
            ) as found on true
      order by id desc limit ${conditions.place(limit + 1)}`,
    conditions.values,
  );
  const deliveries = rows.filter(({ id }) => id !== null);
  if (deliveries.length > limit) return { deliveries, next: deliveries[limit]?.id };
  const { eventsRead = 0, lastRead = '' } = rows[0] ?? {};
  return { deliveries, next: eventsRead < eventsAtMost ? undefined : afterDeliveriesOf(lastRead) };
}

/** Greater than the ids of all deliveries of events of that millisecond. */
function afterDeliveriesOf(eventId: string): string {
  return `dlv_${eventId.slice(4, 14)}~`;
}

/** Whether the webhook of a delivery can be called and the event has its body; undefined: there is no such delivery. */
export async function readRedeliverable(
  db: Queryable,
  scope: WebhookScope,
  id: string,
): Promise<{ webhookStatus: WebhookStatus | null; hasBody: boolean } | undefined> {
  const { rows } = await db.query<{ webhookStatus: WebhookStatus | null; hasBody: boolean }>(
    `select w.status as "webhookStatus", coalesce(e.body is not null, false) as "hasBody"
       from (
              select workspace_id, environment, webhook_id, event_id from webhooks.deliveries
               where workspace_id = $1 and environment = any($2) and id = $3
              union all
              select workspace_id, environment, webhook_id, event_id from webhooks.delivery_log
               where workspace_id = $1 and environment = any($2) and id = $3
            ) as d
       left join webhooks.webhooks as w
              on w.workspace_id = d.workspace_id and w.environment = d.environment and w.id = d.webhook_id
       left join webhooks.events as e
              on e.workspace_id = d.workspace_id and e.environment = d.environment and e.id = d.event_id`,
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0];
}

/** SQL that takes deliveries that are selected as `again` (workspace_id, environment, id) out of the log, into the queue. */
export const backIntoQueue = (origin: string) => `
     taken as (
       delete from webhooks.delivery_log as d using again
        where d.workspace_id = again.workspace_id and d.environment = again.environment and d.id = again.id
       returning d.*
     )
     insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                      sequence, request_id, origin, attempts, lease, due_at, created_at)
     select workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, 0, request_id, ${origin},
            attempts, lease + 1, now(), created_at
       from taken`;

/**
 * Makes one delivery due now, with a full set of retries. An attempt that is under way is logged, and decides nothing any
 * more unless it arrives: its lease is not the last one.
 */
export async function redeliver(tx: Queryable, scope: WebhookScope, id: string): Promise<void> {
  const values = [scope.workspaceId, scope.environments, id];
  const { rowCount } = await tx.query(
    `update webhooks.deliveries
        set tries = 0, due_at = now(), lease = lease + 1, origin = 'redelivery', ordered = false
      where workspace_id = $1 and environment = any($2) and id = $3`,
    values,
  );
  if (rowCount) return;
  await tx.query(
    `with again as (
       select workspace_id, environment, id from webhooks.delivery_log
        where workspace_id = $1 and environment = any($2) and id = $3
     ),${backIntoQueue("'redelivery'")}`,
    values,
  );
}
