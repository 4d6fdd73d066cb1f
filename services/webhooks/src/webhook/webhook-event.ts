import { create } from '@bufbuild/protobuf';
import { webhookDocument } from '@rms/api/webhook/document';
import type { EventOrigin, NewOperationalEvent } from '@rms/postgres/operational-events';
import { WebhookSchema } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { versionOf, type Webhook } from './webhook.ts';
import { toWebhookMessage } from './webhook-message.ts';

type WebhookEventType = Extract<NewOperationalEvent['type'], `webhook.${string}`>;

/** Returns an event with a webhook as GET returns it, but without its health, which changes as time passes. */
export function webhookEvent(type: WebhookEventType, webhook: Webhook, origin: EventOrigin): NewOperationalEvent {
  const { workspaceId, environment, id: subjectId } = webhook;
  const { health: _, ...object } = webhookDocument(create(WebhookSchema, toWebhookMessage(webhook)));
  return { type, workspaceId, environment, subjectId, object: { ...object, version: versionOf(webhook) }, origin };
}
