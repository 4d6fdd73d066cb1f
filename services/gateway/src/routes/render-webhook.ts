import { type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { renderTime } from './render-resource.ts';

/** A webhook as JSON; the secret only where it is shown this once. */
export function renderWebhook(webhook: Webhook, secret?: string): string {
  return JSON.stringify({
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    status: webhook.status === WebhookStatus.DISABLED ? 'disabled' : 'active',
    ...(secret === undefined ? {} : { secret }),
    created_at: renderTime(webhook.createTime),
  });
}

/** What answers a call without the thing that it is about is a mistake of ours. */
export function present<T>(thing: T | undefined): T {
  if (thing === undefined) throw new Error('webhooks answered without a webhook');
  return thing;
}
