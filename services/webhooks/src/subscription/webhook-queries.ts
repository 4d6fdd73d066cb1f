import type { Queryable } from '@rms/db';
import type { PageStart } from '@rms/paging';
import type { DisableReason, Environment, Tenant, Webhook, WebhookStatus } from './webhook.ts';

interface WebhookRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  url: string;
  events: string[];
  status: WebhookStatus;
  disable_reason: DisableReason | null;
  secret_sealed: Buffer;
  secret_version: number;
  max_retries: number;
  initial_delay_ms: string;
  max_delay_ms: string;
  created_at: Date;
  updated_at: Date;
}

const columns = `workspace_id, environment, id, url, events, status, disable_reason, secret_sealed, secret_version,
  max_retries, initial_delay_ms, max_delay_ms, created_at, updated_at`;

/** Whose webhooks: one environment for API clients, both for operators. */
export interface WebhookScope {
  readonly workspaceId: string;
  readonly environments: readonly Environment[];
}

/** Stores a new webhook. */
export async function insertWebhook(db: Queryable, webhook: Webhook): Promise<void> {
  await db.query(
    `insert into webhooks.webhooks (${columns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
    [webhook.workspaceId, webhook.environment, ...valuesOf(webhook)],
  );
}

/** Writes everything that can change of a webhook that this transaction has locked. */
export async function updateWebhook(tx: Queryable, webhook: Webhook): Promise<void> {
  await tx.query(
    `update webhooks.webhooks
        set url = $4, events = $5, status = $6, disable_reason = $7, secret_sealed = $8, secret_version = $9,
            max_retries = $10, initial_delay_ms = $11, max_delay_ms = $12, created_at = $13, updated_at = $14
      where workspace_id = $1 and environment = $2 and id = $3`,
    [webhook.workspaceId, webhook.environment, ...valuesOf(webhook)],
  );
}

export async function findWebhook(db: Queryable, scope: WebhookScope, id: string): Promise<Webhook | undefined> {
  const { rows } = await db.query<WebhookRow>(
    `select ${columns} from webhooks.webhooks where workspace_id = $1 and environment = any($2) and id = $3`,
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0] && toWebhook(rows[0]);
}

/** The same, locked until the transaction ends. */
export async function lockWebhook(tx: Queryable, scope: WebhookScope, id: string): Promise<Webhook | undefined> {
  const { rows } = await tx.query<WebhookRow>(
    `select ${columns} from webhooks.webhooks where workspace_id = $1 and environment = any($2) and id = $3 for update`,
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0] && toWebhook(rows[0]);
}

/** Removes a webhook; false if there is none. */
export async function deleteWebhook(tx: Queryable, { workspaceId, environment, id }: Tenant & { id: string }) {
  const { rowCount } = await tx.query(
    'delete from webhooks.webhooks where workspace_id = $1 and environment = $2 and id = $3',
    [workspaceId, environment, id],
  );
  return rowCount === 1;
}

/** Up to `limit` webhooks, newest first, after or before the start, in the order of the list; and how many there are. */
export async function readWebhooks(
  db: Queryable,
  { workspaceId, environments }: WebhookScope,
  start: PageStart | undefined,
  limit: number,
): Promise<{ webhooks: Webhook[]; total: number }> {
  const backwards = start?.direction === 'before';
  const values: unknown[] = [workspaceId, environments, limit];
  if (start) values.push(start.keys[0]);
  const { rows } = await db.query<WebhookRow>(
    `select ${columns} from webhooks.webhooks
      where workspace_id = $1 and environment = any($2) ${start ? `and id ${backwards ? '>' : '<'} $4` : ''}
      order by id ${backwards ? 'asc' : 'desc'} limit $3`,
    values,
  );
  const count = await db.query<{ total: string }>(
    'select count(*) as total from webhooks.webhooks where workspace_id = $1 and environment = any($2)',
    [workspaceId, environments],
  );
  const webhooks = rows.map(toWebhook);
  return { webhooks: backwards ? webhooks.reverse() : webhooks, total: Number(count.rows[0]?.total ?? 0) };
}

/** Disables a webhook whose endpoint is gone, unless it has another URL by now, and ends what is pending for it. */
export async function disableGone(
  db: Queryable,
  { workspaceId, environment }: Tenant,
  id: string,
  url: string,
): Promise<void> {
  await db.query(
    `with gone as (
       update webhooks.webhooks set status = 'disabled', disable_reason = 'gone', updated_at = now()
        where workspace_id = $1 and environment = $2 and id = $3 and url = $4 and status = 'active'
       returning id
     )
     update webhooks.deliveries as d set status = 'failed', due_at = null
       from gone
      where d.workspace_id = $1 and d.environment = $2 and d.webhook_id = gone.id and d.status = 'pending'`,
    [workspaceId, environment, id, url],
  );
}

/** Ends what is pending for a webhook that is not called any more. It can be redelivered later. */
export async function failPending(tx: Queryable, { workspaceId, environment }: Tenant, id: string): Promise<void> {
  await tx.query(
    `update webhooks.deliveries set status = 'failed', due_at = null
      where workspace_id = $1 and environment = $2 and webhook_id = $3 and status = 'pending'`,
    [workspaceId, environment, id],
  );
}

function valuesOf(webhook: Webhook): unknown[] {
  return [
    webhook.id,
    webhook.url,
    webhook.events,
    webhook.status,
    webhook.disableReason,
    webhook.secretSealed,
    webhook.secretVersion,
    webhook.retryPolicy.maxRetries,
    webhook.retryPolicy.initialDelayMs,
    webhook.retryPolicy.maxDelayMs,
    webhook.createdAt,
    webhook.updatedAt,
  ];
}

function toWebhook(row: WebhookRow): Webhook {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    url: row.url,
    events: row.events,
    status: row.status,
    disableReason: row.disable_reason ?? undefined,
    secretSealed: row.secret_sealed,
    secretVersion: row.secret_version,
    retryPolicy: {
      maxRetries: row.max_retries,
      initialDelayMs: Number(row.initial_delay_ms),
      maxDelayMs: Number(row.max_delay_ms),
    },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
