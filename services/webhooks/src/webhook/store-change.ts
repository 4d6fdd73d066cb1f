import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { pauseEndpoint, resetEndpoint } from '../engine/lease/schedule-queries.ts';
import { tryFailPending } from '../engine/record/end-queries.ts';
import { insertNotice, noticeOf } from '../notices/notice-queries.ts';
import type { Webhook } from './webhook.ts';
import { webhookChanges, webhookEntry } from './webhook-audit.ts';
import { updateWebhook } from './webhook-queries.ts';

/**
 * Writes a changed webhook, with its audit entry, and what follows from its new status: the queue of a disabled webhook
 * ends, a paused one is not due, and a resumed one is due. Returns `changed`. The transaction must hold the row lock.
 */
export async function storeChange(
  tx: Queryable,
  context: Parameters<typeof appendAudit>[1],
  webhook: Webhook,
  changed: Webhook,
): Promise<Webhook> {
  await updateWebhook(tx, changed);
  const changes = webhookChanges(webhook, changed);
  await appendAudit(tx, context, [webhookEntry(changed, { action: 'webhook.updated', changes })]);
  if (changed.status !== webhook.status) {
    if (changed.status === 'disabled') await tryFailPending(tx, changed);
    if (webhook.status === 'disabled') await insertNotice(tx, noticeOf(changed, 'webhook.enabled'));
    if (webhook.status === 'paused' && changed.status === 'active') await resetEndpoint(tx, changed.id);
  }
  if (changed.status === 'paused') await pauseEndpoint(tx, changed.id);
  return changed;
}
