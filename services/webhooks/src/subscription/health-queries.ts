import { inTransaction, type Pool, type Queryable } from '@rms/db';
import { failPending } from '../delivery/end-queries.ts';
import { insertNotice } from '../notices/notice-queries.ts';
import type { Tenant } from './webhook.ts';

type WebhookRef = Tenant & { readonly webhookId: string };

/** Notes of each webhook since when no delivery of it has arrived, or that one has. */
export async function setFailing(
  db: Queryable,
  notes: readonly { ref: WebhookRef; failing: boolean }[],
): Promise<void> {
  await db.query({
    name: 'webhooks-failing',
    text: `
      with changed as (
        select w.workspace_id, w.environment, w.id, note.failing
          from webhooks.webhooks as w
          join (select distinct on (id) * from unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) with ordinality
                    as n (workspace_id, environment, id, failing, place) order by id, place desc) as note
            on w.workspace_id = note.workspace_id and w.environment = note.environment and w.id = note.id
         where (w.failing_since is null) = note.failing
         order by w.id for update of w
      )
      update webhooks.webhooks as w set failing_since = case when changed.failing then now() end
        from changed
       where w.workspace_id = changed.workspace_id and w.environment = changed.environment and w.id = changed.id`,
    values: [
      notes.map(({ ref }) => ref.workspaceId),
      notes.map(({ ref }) => ref.environment),
      notes.map(({ ref }) => ref.webhookId),
      notes.map(({ failing }) => failing),
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
