import type { Tenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Pool, type Queryable } from '@rms/postgres/db';
import { insertNotice } from '../../notices/notice-queries.ts';
import { webhookChanges, webhookEntry } from '../../webhook/webhook-audit.ts';
import { lockWebhook } from '../../webhook/webhook-queries.ts';
import { tryFailPending } from './end-queries.ts';

type WebhookRef = Tenant & { readonly webhookId: string };

/** An instance's observation of an endpoint. */
export interface HealthNote {
  readonly ref: WebhookRef;
  readonly failing: boolean;
}

/**
 * Stores or clears when a webhook's current failures started. If there are several notes for a webhook, the last one
 * wins. Returns the IDs of noted webhooks that have been failing for `failingForHours`; none if it is 0.
 */
export async function setHealth(
  db: Queryable,
  notes: readonly HealthNote[],
  failingForHours: number,
): Promise<Set<string>> {
  const last = [...new Map(notes.map((note) => [note.ref.webhookId, note])).values()];
  const { rows } = await db.query<{ id: string }>({
    name: 'webhooks-health',
    text: `
      with note as (
        select * from unnest($1::text[], $2::text[], $3::text[], $4::boolean[])
            as note (workspace_id, environment, id, failing)
      ), changed as (
        select w.workspace_id, w.environment, w.id, case when note.failing then now() end as failing_since
          from webhooks.webhooks as w
          join note
            on w.workspace_id = note.workspace_id and w.environment = note.environment and w.id = note.id
         where (w.failing_since is null) = note.failing
         order by w.id for update of w
      ), written as (
        update webhooks.webhooks as w set failing_since = changed.failing_since
          from changed
         where w.workspace_id = changed.workspace_id and w.environment = changed.environment and w.id = changed.id
      )
      select w.id
        from webhooks.webhooks as w
        join note on w.workspace_id = note.workspace_id and w.environment = note.environment and w.id = note.id
       where note.failing and w.failing_since < webhooks.agreed_now() - $5::integer * interval '1 hour'`,
    values: [
      last.map(({ ref }) => ref.workspaceId),
      last.map(({ ref }) => ref.environment),
      last.map(({ ref }) => ref.webhookId),
      last.map(({ failing }) => failing),
      failingForHours || null,
    ],
  });
  return new Set(rows.map(({ id }) => id));
}

/**
 * Disables a webhook with an endpoint that responded with 410 Gone or has been failing for `failingForHours`,
 * unless its URL has changed since then. Ends its pending deliveries, notifies its owner and appends an audit entry
 * with the request ID of the delivery. Returns whether it was disabled.
 */
export async function disableWebhook(
  pool: Pool,
  { workspaceId, environment, webhookId, requestId }: WebhookRef & { readonly requestId: string },
  { url, reason, failingForHours }: { url: string; reason: 'gone' | 'failing'; failingForHours: number },
): Promise<boolean> {
  return inTransaction(pool, async (tx) => {
    const before = await lockWebhook(tx, { workspaceId, environments: [environment] }, webhookId);
    if (!before || before.status === 'disabled' || before.url !== url) return false;
    const { rowCount } = await tx.query(
      `update webhooks.webhooks set status = 'disabled', disable_reason = $4, paused_at = null,
              updated_at = greatest(now(), updated_at + interval '1 millisecond')
        where workspace_id = $1 and environment = $2 and id = $3
          and ($4 = 'gone' or failing_since < webhooks.agreed_now() - $5 * interval '1 hour')`,
      [workspaceId, environment, webhookId, reason, failingForHours],
    );
    if (rowCount !== 1) return false;
    await tryFailPending(tx, { workspaceId, environment, id: webhookId });
    await insertNotice(tx, { workspaceId, environment, type: 'webhook.disabled', subjectId: webhookId, reason });
    const changes = webhookChanges(before, {
      ...before,
      status: 'disabled',
      disableReason: reason,
      pausedAt: undefined,
    });
    const origin = { actor: '', actorName: '', clientAddress: '', requestId };
    await appendAudit(tx, origin, [webhookEntry(before, { action: 'webhook.disabled', changes })]);
    return true;
  });
}
