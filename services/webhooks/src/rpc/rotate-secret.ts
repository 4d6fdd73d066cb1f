import { durationMs } from '@bufbuild/protobuf/wkt';
import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeSecret } from '@rms/signature';
import type { Webhook } from '../subscription/webhook.ts';
import { webhookChange } from '../subscription/webhook-audit.ts';
import { toScope, toWebhookMessage } from '../subscription/webhook-message.ts';
import { lockWebhook, updateWebhook } from '../subscription/webhook-queries.ts';
import { found, type HandlerParts, translated } from './parts.ts';

const longestOverlapMs = 7 * 24 * 3_600_000;

/** Deliveries that are leased from now on are signed with the new secret, and for the overlap with the old one as well. */
export function rotateSecret({ pool, box }: HandlerParts): Handlers<typeof WebhooksService>['rotateSecret'] {
  return (request, context) =>
    translated(async () => {
      const overlapMs = request.overlap ? durationMs(request.overlap) : 0;
      if (overlapMs < 0 || overlapMs > longestOverlapMs) {
        throw new RmsError('invalid_request', { details: [{ field: 'overlap', message: 'must be 0 to 7 days' }] });
      }
      const secret = makeSecret();
      const rotated = await inTransaction(pool, async (tx) => {
        const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
        const rotated: Webhook = {
          ...webhook,
          ...previousOf(webhook, overlapMs),
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

function previousOf({ secretSealed }: Webhook, overlapMs: number) {
  if (overlapMs === 0) return { previousSecretSealed: undefined, previousSecretUntil: undefined };
  return { previousSecretSealed: secretSealed, previousSecretUntil: new Date(Date.now() + overlapMs) };
}
