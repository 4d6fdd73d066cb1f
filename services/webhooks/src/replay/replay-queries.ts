import type { PageStart, Queryable } from '@rms/db';
import type { Environment, TenantScope } from '@rms/tenant';
import { Conditions, type LoggedStatus, type LogSource, sourcesOf, statusOf } from '../log/log-filter.ts';
import { makeDueColumns, maxRedeliveries, requeue } from '../log/redeliver-queries.ts';
import type { Replay, ReplayFilter, ReplayStatus } from './replay.ts';

interface ReplayRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  webhook_id: string;
  statuses: LoggedStatus[];
  /** Event types, separated by commas; null: any. */
  event_type: string | null;
  since: Date;
  until: Date;
  per_second: number;
  /** The table contains 'cancelled' instead of 'canceled'. */
  status: Exclude<ReplayStatus, 'canceled'> | 'cancelled';
  total: string;
  replayed: string;
  last_id: string;
  created_by: string;
  created_at: Date;
}

/** Maximum number of rows that a count reads from the queue and from the log, each. A webhook can have millions. */
export const maxCounted = 10_000;

/** A number of deliveries. */
export interface ReplayCount {
  readonly count: number;
  /** Whether there may be more: counting stopped after {@link maxCounted} rows. */
  readonly isMinimum: boolean;
}

/** Counts the deliveries that a replay would send, among the first {@link maxCounted} rows of the webhook. */
export async function countReplayable(db: Queryable, scope: TenantScope, filter: ReplayFilter): Promise<ReplayCount> {
  let count = 0;
  let isMinimum = false;
  for (const source of sourcesOf(filter)) {
    const { where, indexed, values } = conditionsOf(scope, filter, source);
    // Reads a range of an index, in its order. For the queue this is the order of due_at, because the queue has no
    // index of a webhook's deliveries in ID order. The limit is a subquery, so that the planner does not know it and
    // reads the index in order instead of sorting the range.
    const range =
      source === 'deliveries'
        ? `d.webhook_id = $${values.push(filter.webhookId)} order by d.due_at`
        : `${indexed} order by d.id`;
    const { rows } = await db.query<{ read: number; count: number }>(
      `select count(*)::integer as read, (count(*) filter (where ${where}))::integer as count
         from (select * from webhooks.${source} as d where ${range} limit (select ${maxCounted})) as d`,
      values,
    );
    count += rows[0]?.count ?? 0;
    isMinimum ||= rows[0]?.read === maxCounted;
  }
  return { count, isMinimum };
}

/** Stores a new replay. */
export async function insertReplay(tx: Queryable, replay: Replay): Promise<void> {
  await tx.query(
    `insert into webhooks.replays (workspace_id, environment, id, webhook_id, statuses, event_type, since, until,
                                   per_second, status, total, created_by, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
    [
      replay.workspaceId,
      replay.environment,
      replay.id,
      replay.webhookId,
      replay.statuses,
      replay.eventTypes.join(',') || null,
      replay.since,
      replay.until,
      replay.perSecond,
      replay.status,
      replay.total,
      replay.createdBy,
      replay.createdAt,
    ],
  );
}

export async function findReplay(db: Queryable, scope: TenantScope, id: string): Promise<Replay | undefined> {
  const { rows } = await db.query<ReplayRow>(
    'select * from webhooks.replays where workspace_id = $1 and environment = any($2) and id = $3',
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0] && toReplay(rows[0]);
}

/** Reads up to `limit` replays after or before `start`, newest first. */
export async function readReplays(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  start: PageStart | undefined,
  limit: number,
): Promise<Replay[]> {
  const backwards = start?.direction === 'before';
  const order = backwards ? 'asc' : 'desc';
  const values: unknown[] = [workspaceId, environments, limit];
  if (start) values.push(start.keys[0]);
  const { rows } = await db.query<ReplayRow>(
    `select r.* from unnest($2::text[]) as scope (environment)
      cross join lateral (
            select * from webhooks.replays
             where workspace_id = $1 and environment = scope.environment
                   ${start ? `and id ${backwards ? '>' : '<'} $4` : ''}
             order by id ${order} limit $3
           ) as r
      order by r.id ${order} limit $3`,
    values,
  );
  const replays = rows.map(toReplay);
  return backwards ? replays.reverse() : replays;
}

/** Returns one replay, locked until the transaction ends. */
export async function lockReplay(tx: Queryable, scope: TenantScope, id: string): Promise<Replay | undefined> {
  const { rows } = await tx.query<ReplayRow>(
    'select * from webhooks.replays where workspace_id = $1 and environment = any($2) and id = $3 for update',
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0] && toReplay(rows[0]);
}

/** Cancels a running replay. A replay that has ended stays unchanged. Returns undefined if it does not exist. */
export async function cancelReplay(tx: Queryable, scope: TenantScope, id: string): Promise<Replay | undefined> {
  await tx.query(
    `update webhooks.replays set status = 'cancelled'
      where workspace_id = $1 and environment = any($2) and id = $3 and status = 'running'`,
    [scope.workspaceId, scope.environments, id],
  );
  return findReplay(tx, scope, id);
}

/** Reads one replay whose next step is due, and locks it until the transaction ends. */
export async function takeReplay(tx: Queryable): Promise<Replay | undefined> {
  const { rows } = await tx.query<ReplayRow>(
    `select * from webhooks.replays where status = 'running' and next_at <= now()
      order by next_at limit 1 for update skip locked`,
  );
  return rows[0] && toReplay(rows[0]);
}

/**
 * Limits of a step: the number of deliveries and the total size of their attempts. They keep every step within its
 * deadline.
 */
const stepLimit = { deliveries: 1_000, bytes: 8 * 1024 * 1024 };

/**
 * Makes the next deliveries of a replay due immediately, oldest first: as many as it sends per second, within
 * {@link stepLimit}. Returns their number. The next step is due when the rate allows it. If no deliveries remain, the
 * replay is done.
 */
export async function replayNext(tx: Queryable, replay: Replay): Promise<number> {
  const limit = Math.min(replay.perSecond, stepLimit.deliveries);
  const { ids, isLast } = await nextIds(tx, replay, limit);
  // In this order, a delivery that ends between the statements is sent from the log.
  const replayed = (await makeQueuedDue(tx, replay, ids)) + (await requeueLogged(tx, replay, ids));
  const seconds = (isLast ? limit : ids.length) / replay.perSecond;
  await tx.query(
    `update webhooks.replays
        set replayed = replayed + $4, last_id = $5, next_at = now() + make_interval(secs => $6), failures = 0,
            status = case when $7 then 'done' else status end
      where workspace_id = $1 and environment = $2 and id = $3`,
    [replay.workspaceId, replay.environment, replay.id, replayed, ids.at(-1) ?? replay.lastId, seconds, isLast],
  );
  return replayed;
}

/**
 * Postpones a replay whose step has failed: by one second, then twice as long after each failure, up to five minutes.
 */
export async function postponeReplay(db: Queryable, { workspaceId, environment, id }: Replay): Promise<void> {
  await db.query(
    `update webhooks.replays
        set failures = failures + 1, next_at = now() + make_interval(secs => least(power(2, least(failures, 20)), 300))
      where workspace_id = $1 and environment = $2 and id = $3`,
    [workspaceId, environment, id],
  );
}

/**
 * Returns the IDs of the oldest deliveries that the replay has not sent yet, within {@link stepLimit}, and whether they
 * are the last ones.
 */
async function nextIds(tx: Queryable, replay: Replay, limit: number): Promise<{ ids: string[]; isLast: boolean }> {
  const scope = { workspaceId: replay.workspaceId, environments: [replay.environment] };
  const bytesOf = new Map<string, number>();
  for (const source of sourcesOf(replay)) {
    const { where, values } = conditionsOf(scope, replay, source);
    const { rows } = await tx.query<{ id: string; bytes: number }>(
      `select d.id, pg_column_size(d.attempts) as bytes from webhooks.${source} as d
        where ${where} and d.id > $${values.length + 1}
        order by d.id limit $${values.length + 2}`,
      [...values, replay.lastId, limit + 1],
    );
    for (const { id, bytes } of rows) bytesOf.set(id, bytes);
  }
  const ids: string[] = [];
  let bytes = 0;
  for (const [id, size] of [...bytesOf].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (ids.length === limit || bytes >= stepLimit.bytes) break;
    ids.push(id);
    bytes += size;
  }
  return { ids, isLast: ids.length === bytesOf.size };
}

/**
 * Makes the queued deliveries among `ids` due, like a redelivery. Deliveries that are already due, or that wait for an
 * earlier delivery of their lane, stay unchanged. Returns the number of queued deliveries, including unchanged ones.
 */
async function makeQueuedDue(tx: Queryable, replay: Replay, ids: readonly string[]): Promise<number> {
  const { rows } = await tx.query<{ count: string }>(
    `with again as materialized (
       select workspace_id, environment, id from webhooks.deliveries
        where workspace_id = $1 and environment = $2 and id = any($3) order by id for update
     ), hurried as (
       update webhooks.deliveries as d set ${makeDueColumns}, origin = $4
         from again
        where d.workspace_id = again.workspace_id and d.environment = again.environment and d.id = again.id
          and d.due_at > now() and not d.redelivery_requested and d.redeliveries < ${maxRedeliveries}
     )
     select count(*) from again`,
    [replay.workspaceId, replay.environment, ids, replay.id],
  );
  return Number(rows[0]?.count ?? 0);
}

/** Moves the logged deliveries among `ids` back to the queue, delivered ones only if the replay includes them. */
async function requeueLogged(tx: Queryable, replay: Replay, ids: readonly string[]): Promise<number> {
  const { rowCount } = await tx.query(
    `with again as materialized (
       select workspace_id, environment, id from webhooks.delivery_log
        where workspace_id = $1 and environment = $2 and id = any($3) and (status <> 'delivered' or $5)
          and ${statusOf.delivery_log} <> 'canceled'
        order by id for update
     ),${requeue('$4::text')}
     select id from queued`,
    [replay.workspaceId, replay.environment, ids, replay.id, replay.statuses.includes('delivered')],
  );
  return rowCount ?? 0;
}

/**
 * Returns the SQL condition on deliveries `d` that a replay sends, and the part that an index evaluates in ID order.
 */
function conditionsOf(scope: TenantScope, filter: ReplayFilter, source: LogSource) {
  const { webhookId, statuses, since, until } = filter;
  const conditions = new Conditions(scope, { webhookId, statuses, since, until }, source);
  conditions.addOthers({ statuses, test: false }, source);
  if (filter.eventTypes.length > 0)
    conditions.others.push(`event_type = any(${conditions.placeholder(filter.eventTypes)})`);
  const indexed = [
    // A single environment, compared by equality, lets an index return the deliveries in ID order.
    scope.environments.length === 1 ? 'd.environment = ($2::text[])[1]' : 'd.environment = any($2)',
    ...conditions.indexed,
  ].join(' and ');
  const others = [`d.redeliveries < ${maxRedeliveries}`, ...conditions.others];
  return { where: [indexed, ...others].join(' and '), indexed, values: conditions.values };
}

function toReplay(row: ReplayRow): Replay {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    webhookId: row.webhook_id,
    statuses: row.statuses,
    eventTypes: row.event_type?.split(',') ?? [],
    since: row.since,
    until: row.until,
    perSecond: row.per_second,
    status: row.status === 'cancelled' ? 'canceled' : row.status,
    total: Number(row.total),
    replayed: Number(row.replayed),
    lastId: row.last_id,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}
