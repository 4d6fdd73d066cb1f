import type { Tenant } from '@rms/base/tenant';
import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import { type IncidentRow, type StoredIncident, toIncident } from '../incident/incident-queries.ts';

/** Reference to a webhook. */
export interface WebhookRef extends Tenant {
  readonly webhookId: string;
}

/** Schedules an evaluation of the tenant's rules and blocks it until the transaction ends. */
export async function lockEvaluation(tx: Queryable, { workspaceId, environment }: Tenant): Promise<void> {
  await tx.query(
    `insert into alerts.evaluations as known (workspace_id, environment, due_at) values ($1, $2, now())
         on conflict (workspace_id, environment) do update set due_at = least(known.due_at, now())`,
    [workspaceId, environment],
  );
}

/**
 * Stores a notice's sequence. Returns false if a notice about the webhook with the same or a higher sequence has
 * been processed.
 */
export async function noteSequence(tx: Queryable, ref: WebhookRef, sequence: bigint): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into alerts.webhook_notices as known (workspace_id, environment, webhook_id, sequence)
     values ($1, $2, $3, $4)
         on conflict (workspace_id, environment, webhook_id) do update
        set sequence = excluded.sequence, seen_at = now()
      where known.sequence < excluded.sequence`,
    [ref.workspaceId, ref.environment, ref.webhookId, sequence],
  );
  return rowCount === 1;
}

/** Deletes sequences that are older than a week, because no notice is delayed for that long. */
export function forgetSequences(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(
    db,
    'alerts.webhook_notices',
    { where: `seen_at < alerts.agreed_now() - interval '7 days'` },
    signal,
  );
}

/** Stores that the webhooks service has disabled a webhook. */
export async function addDisabled(
  tx: Queryable,
  ref: WebhookRef,
  { reason, url, at }: { reason: string; url: string; at: Date },
): Promise<void> {
  await tx.query(
    `insert into alerts.disabled_webhooks (workspace_id, environment, webhook_id, reason, disabled_at, url)
     values ($1, $2, $3, $4, $5, $6)
         on conflict (workspace_id, environment, webhook_id) do nothing`,
    [ref.workspaceId, ref.environment, ref.webhookId, reason, at, url],
  );
}

/**
 * Deletes the disabled state of a webhook, unless it was disabled after `at`; if `at` is undefined, deletes it in any
 * case.
 */
export async function removeDisabled(tx: Queryable, ref: WebhookRef, at: Date | undefined): Promise<void> {
  await tx.query(
    `delete from alerts.disabled_webhooks
      where workspace_id = $1 and environment = $2 and webhook_id = $3
        and ($4::timestamptz is null or disabled_at <= $4)`,
    [ref.workspaceId, ref.environment, ref.webhookId, at],
  );
}

/** Deletes the failure count of a webhook that was disabled or deleted. */
export async function forgetRun(tx: Queryable, { workspaceId, environment, webhookId }: WebhookRef): Promise<void> {
  await tx.query('delete from alerts.webhook_runs where workspace_id = $1 and environment = $2 and webhook_id = $3', [
    workspaceId,
    environment,
    webhookId,
  ]);
}

/** Ends the open incidents of a deleted webhook without a notice. Returns them. */
export async function endIncidents(
  tx: Queryable,
  { workspaceId, environment, webhookId }: WebhookRef,
): Promise<StoredIncident[]> {
  const { rows } = await tx.query<IncidentRow>(
    `update alerts.incidents set state = 'ended', closed_at = now()
      where workspace_id = $1 and environment = $2 and subject_id = $3 and state = 'open'
     returning *`,
    [workspaceId, environment, webhookId],
  );
  return rows.map(toIncident);
}
