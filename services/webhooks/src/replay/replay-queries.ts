import type { Queryable } from '@rms/db';
import { Conditions, type LoggedStatus } from '../log/log-filter.ts';
import { backIntoQueue } from '../log/log-queries.ts';
import type { Environment } from '../subscription/webhook.ts';
import type { WebhookScope } from '../subscription/webhook-queries.ts';
import type { Replay, ReplayFilter, ReplayStatus } from './replay.ts';

interface ReplayRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  webhook_id: string;
  statuses: LoggedStatus[];
  event_type: string | null;
  since: Date;
  until: Date;
  per_second: number;
  status: ReplayStatus;
  total: string;
  replayed: string;
  last_id: string;
  created_by: string;
  created_at: Date;
}

/** How many deliveries a replay would take. */
export async function countReplayable(db: Queryable, scope: WebhookScope, filter: ReplayFilter): Promise<number> {
  const { where, values } = conditionsOf(scope, filter);
  const { rows } = await db.query<{ count: string }>(
    `select count(*) from webhooks.delivery_log as d where ${where}`,
    values,
  );
  return Number(rows[0]?.count ?? 0);
}

/** Begins a replay. */
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
      replay.eventType,
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

export async function findReplay(db: Queryable, scope: WebhookScope, id: string): Promise<Replay | undefined> {
  const { rows } = await db.query<ReplayRow>(
    'select * from webhooks.replays where workspace_id = $1 and environment = any($2) and id = $3',
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0] && toReplay(rows[0]);
}

/** Ends a replay that runs; one that has ended stays as it is. Undefined if there is none. */
export async function cancelReplay(tx: Queryable, scope: WebhookScope, id: string): Promise<Replay | undefined> {
  await tx.query(
    `update webhooks.replays set status = 'cancelled'
      where workspace_id = $1 and environment = any($2) and id = $3 and status = 'running'`,
    [scope.workspaceId, scope.environments, id],
  );
  return findReplay(tx, scope, id);
}

/** One replay whose next part is due, held against other instances until the transaction ends. */
export async function takeReplay(tx: Queryable): Promise<Replay | undefined> {
  const { rows } = await tx.query<ReplayRow>(
    `select * from webhooks.replays where status = 'running' and next_at <= now()
      order by next_at limit 1 for update skip locked`,
  );
  return rows[0] && toReplay(rows[0]);
}

/**
 * Makes up to `limit` deliveries of a replay due now, oldest first; answers with how many. Fewer than `limit` are its last
 * ones. A second later the next part is due.
 */
export async function replayNext(tx: Queryable, replay: Replay, limit: number): Promise<number> {
  const scope = { workspaceId: replay.workspaceId, environments: [replay.environment] };
  const { where, values } = conditionsOf(scope, replay);
  const place = (value: unknown) => `$${values.push(value)}`;
  const { rows } = await tx.query<{ id: string }>(
    `with again as (
       select workspace_id, environment, id from webhooks.delivery_log as d
        where ${where} and d.id > ${place(replay.lastId)}
        order by d.id limit ${place(limit)} for update
     ),${backIntoQueue(`${place(replay.id)}::text`)}
     returning id`,
    values,
  );
  const last =
    rows
      .map(({ id }) => id)
      .sort()
      .at(-1) ?? replay.lastId;
  await tx.query(
    `update webhooks.replays
        set replayed = replayed + $4, last_id = $5, next_at = now() + interval '1 second',
            status = case when $6 then 'done' else status end
      where workspace_id = $1 and environment = $2 and id = $3`,
    [replay.workspaceId, replay.environment, replay.id, rows.length, last, rows.length < limit],
  );
  return rows.length;
}

function conditionsOf(scope: WebhookScope, { webhookId, statuses, since, until, eventType }: ReplayFilter) {
  const conditions = new Conditions(scope, { webhookId, since, until }, 'delivery_log');
  conditions.addOthers({ eventType }, 'delivery_log');
  const all = ['d.environment = any($2)', ...conditions.indexed, ...conditions.others.map((one) => `d.${one}`)];
  all.push(`d.status = any(${conditions.place(statuses)})`);
  // For the index of those that have not arrived.
  if (!statuses.includes('delivered')) all.push(`d.status <> 'delivered'`);
  return { where: all.join(' and '), values: conditions.values };
}

function toReplay(row: ReplayRow): Replay {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    webhookId: row.webhook_id,
    statuses: row.statuses,
    eventType: row.event_type ?? undefined,
    since: row.since,
    until: row.until,
    perSecond: row.per_second,
    status: row.status,
    total: Number(row.total),
    replayed: Number(row.replayed),
    lastId: row.last_id,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}
