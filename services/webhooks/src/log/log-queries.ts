import type { Queryable } from '@rms/db';
import type { Environment } from '../subscription/webhook.ts';
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
  add('d.request_id =', filter.requestId);
  add('d.event_id =', filter.eventId);
  add('d.id <', filter.before);
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
       from webhooks.deliveries as d
      where ${conditions.join(' and ')}
      order by d.id desc limit $3`,
    values,
  );
  return rows;
}

/** Makes one delivery due now, with a full set of retries; false if there is none. */
export async function redeliver(db: Queryable, scope: WebhookScope, id: string): Promise<boolean> {
  const { rowCount } = await db.query(
    `update webhooks.deliveries set status = 'pending', tries = 0, due_at = now()
      where workspace_id = $1 and environment = any($2) and id = $3`,
    [scope.workspaceId, scope.environments, id],
  );
  return rowCount === 1;
}

/** Makes all failed deliveries of a webhook since a time due now; answers with how many. */
export async function replayFailed(
  db: Queryable,
  scope: WebhookScope,
  webhookId: string,
  since: Date,
): Promise<number> {
  const { rowCount } = await db.query(
    `update webhooks.deliveries set status = 'pending', tries = 0, due_at = now() where ${failedSince}`,
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
