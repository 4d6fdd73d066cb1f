import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { failPending } from '../delivery/end-queries.ts';
import { insertNotice, noticeOf } from '../notices/notice-queries.ts';
import { webhookChange } from '../subscription/webhook-audit.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { lockWebhook, deleteWebhook as removeWebhook } from '../subscription/webhook-queries.ts';
import { found, type HandlerParts, translated } from './parts.ts';

/** Removes a webhook and ends its pending deliveries; the log of what was sent stays. */
export function deleteWebhook({ pool }: HandlerParts): Handlers<typeof WebhooksService>['deleteWebhook'] {
  return (request, context) =>
    translated(() =>
      inTransaction(pool, async (tx) => {
        const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
        await failPending(tx, webhook);
        await removeWebhook(tx, webhook);
        await insertNotice(tx, noticeOf(webhook, 'webhook.deleted'));
        await appendAudit(tx, context, [webhookChange('webhook.deleted', webhook)]);
        return {};
      }),
    );
}
