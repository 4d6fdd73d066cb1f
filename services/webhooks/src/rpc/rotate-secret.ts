import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeSecret } from '../subscription/webhook.ts';
import { webhookChange } from '../subscription/webhook-audit.ts';
import { toScope, toWebhookMessage } from '../subscription/webhook-message.ts';
import { lockWebhook, updateWebhook } from '../subscription/webhook-queries.ts';
import { found, type HandlerParts, translated } from './parts.ts';

/** Deliveries that are leased from now on are signed with the new secret. */
export function rotateSecret({ pool, box }: HandlerParts): Handlers<typeof WebhooksService>['rotateSecret'] {
  return (request, context) =>
    translated(async () => {
      const secret = makeSecret();
      const rotated = await inTransaction(pool, async (tx) => {
        const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
        const rotated = {
          ...webhook,
          secretSealed: box.seal(secret, webhook.id),
          secretVersion: webhook.secretVersion + 1,
          updatedAt: new Date(),
        };
        await updateWebhook(tx, rotated);
        await appendAudit(tx, context, [webhookChange('webhook.secret_rotated', rotated)]);
        return rotated;
      });
      return { webhook: toWebhookMessage(rotated), secret };
    });
}
