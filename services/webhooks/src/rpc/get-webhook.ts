import { toScope } from '@rms/base/tenant';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { toWebhookMessage } from '../webhook/webhook-message.ts';
import { findWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts } from './parts.ts';

export function getWebhook({ pool }: HandlerParts): Handlers<typeof WebhooksService>['getWebhook'] {
  return async (request) => {
    const webhook = found(await findWebhook(pool, toScope(request), request.id), 'webhook', request.id);
    return { webhook: toWebhookMessage(webhook) };
  };
}
