import { inTransaction, type Pool, type Queryable } from '@rms/db';
import { failPending } from '../delivery/end-queries.ts';
import { insertNotice } from '../notices/notice-queries.ts';
import type { Tenant } from './webhook.ts';

type WebhookRef = Tenant & { readonly webhookId: string };

/** Notes since when no delivery of a webhook has arrived, or that one has. */
export async function setFailing(db: Queryable, ref: WebhookRef, failing: boolean): Promise<void> {
  await db.query({
    name: failing ? 'webhook-fails' : 'webhook-works',
    text: `
      update webhooks.webhooks set failing_since = ${failing ? 'now()' : 'null'}
       where workspace_id = $1 and environment = $2 and id = $3 and failing_since is ${failing ? '' : 'not'} null`,
    values: [ref.workspaceId, ref.environment, ref.webhookId],
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
