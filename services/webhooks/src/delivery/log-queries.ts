import type { Tenant, TenantScope } from '@rms/base/tenant';
import type { EndReason } from '@rms/base/webhook-events';
import { inTransaction, type Pool, type Queryable, readsPerPage } from '@rms/postgres/db';
import {
  type AttemptSummary,
  type AttemptsRead,
  attemptCount,
  attemptsRead,
  deliveryBytes,
  type LoggedAttempt,
  lastAttempt,
} from '../engine/record/logged-attempt.ts';
import {
  Conditions,
  type DelayReason,
  delayColumns,
  endpointIfDue,
  type LogFilter,
  type LoggedStatus,
  type LogSource,
  sourcesOf,
  statusOf,
} from './log-filter.ts';

export interface LoggedDelivery extends Tenant {
  readonly id: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly webhookId: string;
  readonly resourceId: string;
  readonly requestId: string;
  readonly status: LoggedStatus;
  readonly origin: string;
  readonly createdAt: Date;
  /** Null if the delivery ended, or waits for an earlier delivery of its lane. */
  readonly nextAttemptAt: Date | null;
  /** Null if the delivery is not due, or is about to be attempted. */
  readonly delayReason: DelayReason | null;
  /** Null if the delivery has not ended or is delivered, or if an earlier release ended it. */
  readonly endReason: EndReason | null;
  /** Null if the delivery has not ended. */
  readonly endedAt: Date | null;
  /** All attempts, including those that are no longer stored. */
  readonly attemptCount: number;
  /** Null if there was no attempt. */
  readonly lastAttempt: AttemptSummary | null;
  /** The requested attempts; see {@link AttemptsRead}. */
  readonly attempts: readonly LoggedAttempt[];
}

export interface LogPage {
  readonly deliveries: LoggedDelivery[];
  /** Where the next page starts; undefined if there are no more. */
  readonly next: string | undefined;
}

/** Where and how deliveries are read. */
export interface LogReading {
  readonly scope: TenantScope;
  readonly filter: LogFilter;
  /** Maximum number of deliveries. */
  readonly limit: number;
  readonly attempts: AttemptsRead;
}

/** A delivery and its approximate size; see {@link deliveryBytes}. */
interface LogRow extends LoggedDelivery {
  readonly bytes: number;
  /** Rows of the page before it was cut off at {@link pageBytes}. */
  readonly total: number;
}

/** A table's rows, and where to continue reading; undefined if all were read. */
interface LogPart {
  readonly rows: LogRow[];
  readonly next: string | undefined;
}

/** A page ends with the delivery that brings it to this size, in bytes. */
const pageBytes = 1024 * 1024;
/**
 * Maximum number of rows of a read. If few of them match the filter, `next` is the position to continue from, so that no
 * request reads the whole log.
 */
const maxRowsRead = 5_000;
/** Maximum number of events of a read that filters by request or resource. */
const maxEvents = 200;

const columns: Readonly<Record<LogSource, string>> = {
  deliveries: `${statusOf.deliveries} as status, ${delayColumns('d.due_at')}, null as "endReason", null as "endedAt"`,
  delivery_log: `${statusOf.delivery_log} as status, null as "nextAttemptAt", null as "delayReason",
            end_reason as "endReason", ended_at as "endedAt"`,
};
const joins: Readonly<Record<LogSource, string>> = {
  deliveries: endpointIfDue('d.webhook_id', 'd.due_at'),
  delivery_log: '',
};
const common = `workspace_id as "workspaceId", environment, id, event_id as "eventId", event_type as "eventType",
            webhook_id as "webhookId", resource_id as "resourceId", request_id as "requestId", origin,
            created_at as "createdAt", ${attemptCount} as "attemptCount", ${lastAttempt} as "lastAttempt"`;

/**
 * SQL that selects the first rows of `page`, up to {@link pageBytes}, but at least one. Sizes are determined without
 * reading the attempts, so a row's attempts beyond the limit are never read.
 */
const firstRows = (page: string, source: LogSource, attempts: AttemptsRead, more = '') =>
  `select ${common}, ${columns[source]}, ${attemptsRead[attempts]} as attempts, bytes, total${more}
       from (
              select d.*, count(*) over ()::integer as total,
                     sum(bytes) over (order by id desc) - bytes as bytes_before
                from (select d.*, ${deliveryBytes[attempts]} as bytes from (${page}) as d) as d
            ) as d${joins[source]}
      where bytes_before < ${pageBytes}
      order by id desc`;

/**
 * Reads deliveries, newest first. A page has fewer than `limit` deliveries if they would be too large together, or if
 * too few of the rows that {@link readsPerPage} reads return match the filter. Everything is read from one snapshot, so
 * that a delivery that moves between the queue and the log appears exactly once.
 */
export function readDeliveries(pool: Pool, reading: LogReading): Promise<LogPage> {
  return inTransaction(pool, async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only');
    let page: LogRow[] = [];
    let next = reading.filter.before;
    for (let reads = 0; reads < readsPerPage; reads += 1) {
      const read = await readPage(tx, { ...reading, filter: { ...reading.filter, before: next } });
      const all = [...page, ...read.rows];
      page = firstOf(all, reading.limit);
      next = page.length < all.length ? page.at(-1)?.id : read.next;
      if (next === undefined || page.length < all.length || page.length >= reading.limit) break;
    }
    return { deliveries: page, next };
  });
}

/** Reads one delivery by ID; undefined if it does not exist. */
export async function readDelivery(
  pool: Pool,
  scope: TenantScope,
  id: string,
  attempts: AttemptsRead,
): Promise<LoggedDelivery | undefined> {
  const { deliveries } = await readDeliveries(pool, { scope, filter: { id }, limit: 1, attempts });
  return deliveries[0];
}

/**
 * Reads a delivery in a transaction that may have changed it, with summaries of its attempts; undefined if it does not
 * exist. It is one statement, so that a delivery that moves between the queue and the log is not missed.
 */
export async function readChanged(tx: Queryable, scope: TenantScope, id: string): Promise<LoggedDelivery | undefined> {
  const rowOf = (source: LogSource) =>
    firstRows(
      `select * from webhooks.${source} where workspace_id = $1 and environment = any($2) and id = $3`,
      source,
      'summaries',
    );
  const { rows } = await tx.query<LogRow>(`(${rowOf('deliveries')}) union all (${rowOf('delivery_log')})`, [
    scope.workspaceId,
    scope.environments,
    id,
  ]);
  return rows[0];
}

async function readPage(tx: Queryable, reading: LogReading): Promise<LogPart> {
  const { filter, limit } = reading;
  const byEvents = filter.requestId !== undefined || filter.resourceId !== undefined;
  const read = byEvents ? readByEvents : readRange;
  const parts: LogPart[] = [];
  for (const source of sourcesOf(filter)) parts.push(await read(tx, source, reading));
  // Results are complete only down to the highest `next` of all sources.
  const readTo =
    parts
      .map(({ next }) => next ?? '')
      .sort()
      .at(-1) ?? '';
  const found = parts
    .flatMap(({ rows }) => rows)
    .filter(({ id }) => id >= readTo)
    .sort((a, b) => (a.id < b.id ? 1 : -1));
  const rows = firstOf(found, limit);
  return { rows, next: found.length > rows.length ? rows.at(-1)?.id : readTo || undefined };
}

/** Returns the first rows, up to `limit` and {@link pageBytes}, but at least one. */
function firstOf(rows: readonly LogRow[], limit: number): LogRow[] {
  let bytes = 0;
  const end = rows.findIndex((row, i) => {
    const isOver = i >= limit || bytes >= pageBytes;
    bytes += row.bytes;
    return isOver;
  });
  return end === -1 ? [...rows] : rows.slice(0, end);
}

/** Reads a single index range per environment. */
async function readRange(
  db: Queryable,
  source: LogSource,
  { scope, filter, limit, attempts }: LogReading,
): Promise<LogPart> {
  const conditions = new Conditions(scope, filter, source);
  conditions.addOthers(filter, source);
  const { indexed, others, values } = conditions;
  const readLimit = others.length > 0 ? maxRowsRead : limit + 1;
  // The innermost limit bounds the number of rows read. The next limit stops reading when the page is full.
  const page = `
              select found.* from unnest($2::text[]) as scope (environment)
               cross join lateral (
                     select * from (
                              select * from webhooks.${source} as d
                               where d.environment = scope.environment and ${indexed.join(' and ')}
                               order by d.id desc limit ${conditions.placeholder(readLimit)}
                            ) as d
                      ${others.length > 0 ? `where ${others.join(' and ')}` : ''}
                      order by d.id desc limit ${conditions.placeholder(limit + 1)}
                     ) as found
               order by found.id desc limit ${conditions.placeholder(limit + 1)}`;
  const { rows } = await db.query<LogRow>(firstRows(page, source, attempts), values);
  if (isCut(rows)) return { rows, next: rows.at(-1)?.id };
  if (others.length === 0 || rows.length > limit) return { rows, next: rows[limit]?.id };
  return { rows, next: await lowestRead(db, source, scope, filter) };
}

/** Returns whether rows are missing because of {@link pageBytes}. */
function isCut(rows: readonly LogRow[]): boolean {
  return rows.length < (rows[0]?.total ?? 0);
}

/** Returns the ID where a read was cut off by {@link maxRowsRead}; undefined if it was not cut off. */
async function lowestRead(db: Queryable, source: LogSource, scope: TenantScope, filter: LogFilter) {
  const conditions = new Conditions(scope, filter, source);
  const { rows } = await db.query<{ id: string | null }>(
    `select max(d.id) as id from unnest($2::text[]) as scope (environment)
      cross join lateral (
            select id from webhooks.${source} as d
             where d.environment = scope.environment and ${conditions.indexed.join(' and ')}
             order by d.id desc offset ${conditions.placeholder(maxRowsRead - 1)} limit 1
           ) as d`,
    conditions.values,
  );
  return rows[0]?.id ?? undefined;
}

/** Joins an event to its deliveries by primary key: the IDs of its deliveries start with the event's time. */
export const deliveriesOfEvent = `d.workspace_id = e.workspace_id and d.environment = e.environment
            and d.id >= 'dlv_' || substr(e.id, 5, 10) and d.id < 'dlv_' || substr(e.id, 5, 10) || '~'
            and d.event_id = e.id`;

/**
 * Reads deliveries by request or resource: first selects the matching events, then their deliveries, newest
 * event first. The IDs of deliveries start with the event's time, so events and deliveries are in the same order,
 * except within a millisecond. Test deliveries belong to no stored event, so they never match.
 */
async function readByEvents(
  db: Queryable,
  source: LogSource,
  { scope, filter, limit, attempts }: LogReading,
): Promise<LogPart> {
  const conditions = new Conditions(scope, filter, source);
  conditions.addOthers(filter, source);
  const page = `
              select d.*, "eventsRead", "lastRead"
                from (select count(*)::integer as "eventsRead", min(id) as "lastRead" from events) as read
                left join (
                       select d.* from events as e
                        cross join lateral (
                              select d.* from webhooks.${source} as d
                               where ${[deliveriesOfEvent, ...conditions.indexed, ...conditions.others].join(' and ')}
                               offset 0
                             ) as d
                     ) as d on true
               order by d.id desc limit ${conditions.placeholder(limit + 1)}`;
  const { rows: found } = await db.query<LogRow & { eventsRead: number; lastRead: string }>(
    `with events as materialized (
       select e.* from unnest($2::text[]) as scope (environment)
        cross join lateral (
              select workspace_id, environment, id ${conditions.ofEvents(filter)}
               order by e.id desc limit ${conditions.placeholder(maxEvents)}
             ) as e
        order by e.id desc limit ${conditions.placeholder(maxEvents)}
     )
     ${firstRows(page, source, attempts, ', "eventsRead", "lastRead"')}`,
    conditions.values,
  );
  // Without deliveries, the only row contains just "eventsRead" and "lastRead".
  const rows = found.filter(({ id }) => id !== null);
  if (isCut(rows)) return { rows, next: rows.at(-1)?.id };
  if (rows.length > limit) return { rows, next: rows[limit]?.id };
  const { eventsRead = 0, lastRead = '' } = found[0] ?? {};
  return { rows, next: eventsRead < maxEvents ? undefined : afterDeliveriesOf(lastRead) };
}

/** Returns a text that sorts after the IDs of all deliveries of the event's millisecond. */
function afterDeliveriesOf(eventId: string): string {
  return `dlv_${eventId.slice(4, 14)}~`;
}
