import type { Environment, TenantScope } from '@rms/base/tenant';
import { deleteInBatches, type Queryable } from '@rms/postgres/db';
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

/** Deletes finished replays that were created more than `days` ago. Returns their number. */
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
