import { RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import {
  PauseWebhookResponseSchema,
  ResumeWebhookResponseSchema,
  type WebhooksService,
} from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { changeTime, type Webhook, type WebhookStatus, withStatus } from '../webhook/webhook.ts';
import { toWebhookMessage } from '../webhook/webhook-message.ts';
import { lockWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts, idempotentRequest } from './parts.ts';
import { storeChange } from './update-webhook.ts';

/**
 * Pauses a webhook: it keeps its queue and gets deliveries, and none is attempted. Throws `conflict` if it is disabled.
 */
export function pauseWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['pauseWebhook'] {
  return async (request, context) => {
    const once = idempotentRequest('pause webhook', request);
    const { response, replayed } = await parts.idempotency.once(once, PauseWebhookResponseSchema, async (tx) => {
      const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
      return { webhook: toWebhookMessage(await storeChange(tx, context, webhook, enabled(webhook, 'paused'))) };
    });
    return { ...response, replayed };
  };
}

/** Resumes a paused webhook: its due deliveries are attempted immediately. Throws `conflict` if it is disabled. */
export function resumeWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['resumeWebhook'] {
  return async (request, context) => {
    const once = idempotentRequest('resume webhook', request);
    const { response, replayed } = await parts.idempotency.once(once, ResumeWebhookResponseSchema, async (tx) => {
      const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
      return { webhook: toWebhookMessage(await storeChange(tx, context, webhook, enabled(webhook, 'active'))) };
    });
    parts.engine.wake();
    return { ...response, replayed };
  };
}

/** Returns the webhook with another status, or unchanged if it has that status. */
function enabled(webhook: Webhook, status: Exclude<WebhookStatus, 'disabled'>): Webhook {
  if (webhook.status === 'disabled') {
    throw new RmsError('conflict', { message: 'The webhook is disabled. Enable it first.' });
  }
  if (webhook.status === status) return webhook;
  const updatedAt = changeTime(webhook);
  return { ...webhook, ...withStatus(webhook, status, updatedAt), updatedAt };
}
