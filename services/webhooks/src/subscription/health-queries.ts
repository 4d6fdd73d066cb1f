import { inTransaction, type Pool, type Queryable } from '@rms/db';
import { failPending } from '../delivery/end-queries.ts';
import { insertNotice } from '../notices/notice-queries.ts';
import type { Tenant } from './webhook.ts';

type WebhookRef = Tenant & { readonly webhookId: string };

/** What an instance has seen of an endpoint; what is undefined stays as it is. */
export interface HealthNote {
  readonly ref: WebhookRef;
  readonly failing?: boolean;
  /** Its circuit. */
  readonly isOpen?: boolean;
}

/**
 * Notes of each webhook since when no delivery of it has arrived, or that one has; and since when its circuit is open. A
 * delivery that arrives closes it, whoever has opened it. Of several notes of a webhook the last one counts.
 */
export async function setHealth(db: Queryable, notes: readonly HealthNote[]): Promise<void> {
  const lastOf = new Map<string, HealthNote>();
  for (const note of notes) {
    const before = note.failing === false ? { isOpen: false } : lastOf.get(note.ref.webhookId);
    lastOf.set(note.ref.webhookId, { ...before, ...note });
  }
  const last = [...lastOf.values()];
  await db.query({
    name: 'webhooks-health',
    text: `
      with changed as (
        select w.workspace_id, w.environment, w.id,
               case when coalesce(note.failing, w.failing_since is not null) then coalesce(w.failing_since, now()) end
                 as failing_since,
               case when coalesce(note.is_open, w.circuit_open_since is not null)
                    then coalesce(w.circuit_open_since, now()) end as circuit_open_since
          from webhooks.webhooks as w
          join unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::boolean[])
            as note (workspace_id, environment, id, failing, is_open)
            on w.workspace_id = note.workspace_id and w.environment = note.environment and w.id = note.id
         where (w.failing_since is null) = note.failing or (w.circuit_open_since is null) = note.is_open
         order by w.id for update of w
      )
      update webhooks.webhooks as w
         set failing_since = changed.failing_since, circuit_open_since = changed.circuit_open_since
        from changed
       where w.workspace_id = changed.workspace_id and w.environment = changed.environment and w.id = changed.id`,
    values: [
      last.map(({ ref }) => ref.workspaceId),
      last.map(({ ref }) => ref.environment),
      last.map(({ ref }) => ref.webhookId),
      last.map(({ failing }) => failing ?? null),
      last.map(({ isOpen }) => isOpen ?? null),
    ],
  });
}

/**
 * Disables an active webhook whose endpoint is gone, or has failed for so many hours, unless it has another URL by now;
 * ends what is under way for it and tells its owner. Answers whether it was disabled.
 */
export async function disableWebhook(
  pool: Pool,
  { workspaceId, environment, webhookId }: WebhookRef,
  { url, reason, failingForHours }: { url: string; reason: 'gone' | 'failing'; failingForHours: number },
): Promise<boolean> {
  return inTransaction(pool, async (tx) => {
    const { rowCount } = await tx.query(
      `update webhooks.webhooks set status = 'disabled', disable_reason = $5, updated_at = now()
        where workspace_id = $1 and environment = $2 and id = $3 and url = $4 and status = 'active'
          and ($5 = 'gone' or failing_since < now() - $6 * interval '1 hour')`,
      [workspaceId, environment, webhookId, url, reason, failingForHours],
    );
    if (rowCount !== 1) return false;
    await failPending(tx, { workspaceId, environment, id: webhookId });
    await insertNotice(tx, { workspaceId, environment, type: 'webhook.disabled', subjectId: webhookId, reason });
    return true;
  });
}
