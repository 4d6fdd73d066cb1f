import type { Queryable } from '@rms/db';
import type { Tenant } from '../tenant.ts';

/** A webhook and whose it is. */
export interface WebhookRef extends Tenant {
  readonly webhookId: string;
}

/** Nobody else looks at the tenant's rules until the transaction ends; they are due for a look then. */
export async function lockWatch(tx: Queryable, { workspaceId, environment }: Tenant): Promise<void> {
  await tx.query(
    `insert into alerts.watches as known (workspace_id, environment, due_at) values ($1, $2, now())
         on conflict (workspace_id, environment) do update set due_at = least(known.due_at, now())`,
    [workspaceId, environment],
  );
}

/** The service has disabled a webhook. */
export async function addDisabled(tx: Queryable, ref: WebhookRef, reason: string, at: Date): Promise<void> {
  await tx.query(
    `insert into alerts.disabled_webhooks (workspace_id, environment, webhook_id, reason, disabled_at)
     values ($1, $2, $3, $4, $5)
         on conflict (workspace_id, environment, webhook_id) do nothing`,
    [ref.workspaceId, ref.environment, ref.webhookId, reason, at],
  );
}

/** A webhook works again, or is gone: what was noted of it before that moment counts no more. */
export async function removeDisabled(tx: Queryable, ref: WebhookRef, at: Date): Promise<void> {
  await tx.query(
    `delete from alerts.disabled_webhooks
      where workspace_id = $1 and environment = $2 and webhook_id = $3 and disabled_at <= $4`,
    [ref.workspaceId, ref.environment, ref.webhookId, at],
  );
}

/** A webhook is gone, or is not called any more: its failures matter no more. */
export async function forgetRun(tx: Queryable, { workspaceId, environment, webhookId }: WebhookRef): Promise<void> {
  await tx.query('delete from alerts.webhook_runs where workspace_id = $1 and environment = $2 and webhook_id = $3', [
    workspaceId,
    environment,
    webhookId,
  ]);
}

/** A webhook is gone: so is what was wrong with it, without a word. */
export async function endIncidents(tx: Queryable, { workspaceId, environment, webhookId }: WebhookRef): Promise<void> {
  await tx.query(
    `update alerts.incidents set state = 'ended', closed_at = now()
      where workspace_id = $1 and environment = $2 and subject_id = $3 and state = 'open'`,
    [workspaceId, environment, webhookId],
  );
}
