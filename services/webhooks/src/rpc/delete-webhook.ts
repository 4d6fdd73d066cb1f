import { checkVersion } from '@rms/base/errors';
import { type Tenant, toScope } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { tryFailPending } from '../engine/record/end-queries.ts';
import { insertNotice, noticeOf } from '../notices/notice-queries.ts';
import { versionOf } from '../webhook/webhook.ts';
import { webhookChanges, webhookEntry } from '../webhook/webhook-message.ts';
import { lockWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts } from './parts.ts';

/** Deletes a webhook and ends its pending deliveries as failed. Its delivery log is kept. */
export function deleteWebhook({ pool, queues }: HandlerParts): Handlers<typeof WebhooksService>['deleteWebhook'] {
  return async (request, context) => {
    await inTransaction(pool, async (tx) => {
      const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
      checkVersion(versionOf(webhook), request.expectedVersions);
      await removeWebhook(tx, webhook);
      await tryFailPending(tx, webhook);
      await insertNotice(tx, noticeOf(webhook, 'webhook.deleted'));
      const changes = webhookChanges(webhook, undefined);
      await appendAudit(tx, context, [webhookEntry(webhook, { action: 'webhook.deleted', changes })]);
    });
    queues.notices.wake();
    return {};
  };
}

/** Deletes a webhook. Returns false if it does not exist. */
async function removeWebhook(tx: Queryable, { workspaceId, environment, id }: Tenant & { id: string }) {
  const { rowCount } = await tx.query(
    'delete from webhooks.webhooks where workspace_id = $1 and environment = $2 and id = $3',
    [workspaceId, environment, id],
  );
  return rowCount === 1;
}
