import type { Queryable } from '@rms/db';
import type { Environment, WebhookStatus } from '../subscription/webhook.ts';
import type { WebhookScope } from '../subscription/webhook-queries.ts';

export type LoggedStatus = 'pending' | 'delivered' | 'failed';

export interface LoggedAttempt {
  readonly number: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly statusCode: number;
  readonly error: string;
  readonly durationMs: number;
}

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
  readonly createdAt: Date;
  readonly dueAt: Date | null;
  readonly attempts: readonly LoggedAttempt[];
}

/** Which deliveries; what is undefined does not count. */
export interface LogFilter {
  readonly id?: string | undefined;
  readonly webhookId?: string | undefined;
  readonly status?: LoggedStatus | undefined;
  readonly requestId?: string | undefined;
  readonly eventId?: string | undefined;
  /** Only those with a smaller id: older ones. */
  readonly before?: string | undefined;
}

/** From an event to its deliveries by the primary key: an event's time leads the ids of its deliveries. */
export const deliveriesOfEvent = `d.workspace_id = e.workspace_id and d.environment = e.environment
            and d.id >= 'dlv_' || substr(e.id, 5, 10) and d.id < 'dlv_' || substr(e.id, 5, 10) || '~'
            and d.event_id = e.id`;

/** Deliveries, newest first, each with all its attempts. */
export async function readDeliveries(
  db: Queryable,
  { workspaceId, environments }: WebhookScope,
  filter: LogFilter,
  limit: number,
): Promise<LoggedDelivery[]> {
  const values: unknown[] = [workspaceId, environments, limit];
  const conditions = ['d.workspace_id = $1', 'd.environment = any($2)'];
  const add = (condition: string, value: string | undefined) => {
    if (value !== undefined) conditions.push(`${condition} $${values.push(value)}`);
  };
  add('d.id =', filter.id);
  add('d.webhook_id =', filter.webhookId);
  add('d.status =', filter.status);
  add('e.workspace_id = $1 and e.environment = any($2) and e.request_id =', filter.requestId);
  add('e.workspace_id = $1 and e.environment = any($2) and e.id =', filter.eventId);
  add('d.id <', filter.before);
  const deliveries = 'webhooks.deliveries as d';
  const byEvent = filter.requestId !== undefined || filter.eventId !== undefined;
  const { rows } = await db.query<LoggedDelivery>(
    `select d.workspace_id as "workspaceId", d.environment, d.id, d.event_id as "eventId",
            d.event_type as "eventType", d.webhook_id as "webhookId", d.resource_id as "resourceId",
            d.request_id as "requestId", d.status, d.created_at as "createdAt", d.due_at as "dueAt",
            coalesce((
              select json_agg(json_build_object('number', a.number, 'startedAt', a.started_at, 'statusCode',
                              a.status_code, 'error', a.error, 'durationMs', a.duration_ms) order by a.number)
                from webhooks.attempts as a
               where a.workspace_id = d.workspace_id and a.environment = d.environment and a.delivery_id = d.id
            ), '[]') as attempts
       from ${byEvent ? `webhooks.events as e join ${deliveries} on ${deliveriesOfEvent}` : deliveries}
      where ${conditions.join(' and ')}
      order by d.id desc limit $3`,
    values,
  );
  return rows;
}

/** Whether the webhook of a delivery can be called and the event has its body; undefined: there is no such delivery. */
export async function readRedeliverable(
  db: Queryable,
  scope: WebhookScope,
  id: string,
): Promise<{ webhookStatus: WebhookStatus | null; hasBody: boolean } | undefined> {
  const { rows } = await db.query<{ webhookStatus: WebhookStatus | null; hasBody: boolean }>(
    `select w.status as "webhookStatus", coalesce(e.body is not null, false) as "hasBody"
       from webhooks.deliveries as d
       left join webhooks.webhooks as w
              on w.workspace_id = d.workspace_id and w.environment = d.environment and w.id = d.webhook_id
       left join webhooks.events as e
              on e.workspace_id = d.workspace_id and e.environment = d.environment and e.id = d.event_id
      where d.workspace_id = $1 and d.environment = any($2) and d.id = $3`,
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0];
}

/**
 * Makes one delivery due now, with a full set of retries. An attempt that is under way is logged, and decides nothing any
 * more: its lease is not the last one.
 */
export async function redeliver(db: Queryable, scope: WebhookScope, id: string): Promise<void> {
  await db.query(
    `update webhooks.deliveries set status = 'pending', tries = 0, due_at = now(), lease = lease + 1
      where workspace_id = $1 and environment = any($2) and id = $3`,
    [scope.workspaceId, scope.environments, id],
  );
}

/** Makes all failed deliveries of a webhook since a time due now; answers with how many. */
export async function replayFailed(
  db: Queryable,
  scope: WebhookScope,
  webhookId: string,
  since: Date,
): Promise<number> {
  const { rowCount } = await db.query(
    `update webhooks.deliveries set status = 'pending', tries = 0, due_at = now(), lease = lease + 1
      where ${failedSince}`,
    [scope.workspaceId, scope.environments, webhookId, since],
  );
  return rowCount ?? 0;
}

/** How many {@link replayFailed} would take. */
export async function countFailed(db: Queryable, scope: WebhookScope, webhookId: string, since: Date): Promise<number> {
  const { rows } = await db.query<{ count: string }>(`select count(*) from webhooks.deliveries where ${failedSince}`, [
    scope.workspaceId,
    scope.environments,
    webhookId,
    since,
  ]);
  return Number(rows[0]?.count ?? 0);
}

const failedSince =
  "workspace_id = $1 and environment = any($2) and webhook_id = $3 and status = 'failed' and created_at >= $4";
