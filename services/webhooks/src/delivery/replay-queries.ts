import type { Environment, TenantScope } from '@rms/base/tenant';
import { deleteInBatches, type PageStart, type Queryable } from '@rms/postgres/db';
import type { LoggedStatus } from './log-filter.ts';
import type { Replay, ReplayStatus } from './replay.ts';

/** Row of `webhooks.replays`. */
export interface ReplayRow {
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

/**
 * Returns the number of running replays of a workspace, at most `most`. Replays of the workspace cannot be started
 * concurrently until the transaction ends.
 */
export async function countRunning(tx: Queryable, workspaceId: string, most: number): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('replays of ' || $1, 0))", [workspaceId]);
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count
       from (select from webhooks.replays where workspace_id = $1 and status = 'running' limit $2) as few`,
    [workspaceId, most],
  );
  return rows[0]?.count ?? 0;
}

/** Deletes replays that have ended and were created more than `days` ago. Returns their number. */
export function trimReplays(db: Queryable, days: number, signal: AbortSignal): Promise<number> {
  const old = {
    where: "status <> 'running' and created_at < webhooks.agreed_now() - make_interval(days => $1)",
    values: [days],
  };
  return deleteInBatches(db, 'webhooks.replays', old, signal);
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

export function toReplay(row: ReplayRow): Replay {
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
