import { durationMs } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { makeSecret } from '@rms/base/signature';
import { toScope, toTenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import { RotateSecretResponseSchema, type WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import { secretContext } from '../secrets/contexts.ts';
import { changeTime, type Webhook } from '../webhook/webhook.ts';
import { toWebhookMessage, webhookChanges, webhookEntry } from '../webhook/webhook-message.ts';
import { lockWebhook, updateWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts } from './parts.ts';

const maxOverlapMs = 7 * 24 * 3_600_000;

/**
 * Replaces the secret. Deliveries leased afterwards are signed with the new secret, and during the overlap also with
 * the old one.
 */
export function rotateSecret({
  idempotency,
  box,
  time,
}: HandlerParts): Handlers<typeof WebhooksService>['rotateSecret'] {
  return async (request, context) => {
    const overlapMs = request.overlap ? durationMs(request.overlap) : 0;
    if (overlapMs < 0 || overlapMs > maxOverlapMs) {
      throw new RmsError('invalid_request', { details: [{ field: 'overlap', message: 'must be 0 to 7 days' }] });
    }
    const nowMs = await time.fresh();
    const actor = actorOf(context);
    const idempotent = {
      tenant: () => toTenant(request),
      operation: 'rotate secret',
      key: request.idempotencyKey,
      content: [request.id, overlapMs],
    };
    const { response, replayed } = await idempotency.once(idempotent, RotateSecretResponseSchema, async (tx) => {
      const secret = makeSecret();
      const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
      const rotated: Webhook = {
        ...webhook,
        ...previousOf(webhook, { overlapMs, nowMs }),
        secretSealed: box.seal(secret, secretContext({ ...webhook, webhookId: webhook.id })),
        secretVersion: webhook.secretVersion + 1,
        updatedAt: changeTime(webhook, nowMs),
      };
      await updateWebhook(tx, rotated);
      const changes = webhookChanges(webhook, rotated);
      await appendAudit(tx, context, [webhookEntry(rotated, { action: 'webhook.secret_rotated', changes })]);
      return { webhook: toWebhookMessage(rotated), secret, createdBy: actor };
    });
    const { webhook, secret, createdBy } = response;
    // The secret is shown once. Another API key must not obtain it by repeating an Idempotency-Key.
    return { webhook, secret: createdBy === actor ? secret : '', replayed };
  };
}

function previousOf({ secretSealed }: Webhook, { overlapMs, nowMs }: { overlapMs: number; nowMs: number }) {
  if (overlapMs === 0) return { previousSecretSealed: undefined, previousSecretUntil: undefined };
  return { previousSecretSealed: secretSealed, previousSecretUntil: new Date(nowMs + overlapMs) };
}
