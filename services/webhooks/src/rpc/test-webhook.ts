import { newId } from '@rms/ids';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { send } from '../delivery/send.ts';
import { toLoggedAttempt } from '../log/attempt.ts';
import { toAttemptMessage } from '../log/delivery-message.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { findWebhook } from '../subscription/webhook-queries.ts';
import { found, type HandlerParts, translated } from './parts.ts';

/** Sends one sample event now, whatever the webhook's status and types; it is neither retried nor logged. */
export function testWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['testWebhook'] {
  const { pool, agents, secrets } = parts;
  return (request, { requestId }) =>
    translated(async () => {
      const webhook = found(await findWebhook(pool, toScope(request), request.id), 'webhook', request.id);
      const eventId = newId('evt');
      const body = Buffer.from(JSON.stringify(sampleEvent(eventId)));
      const outgoing = { url: webhook.url, eventId, requestId: requestId || newId('req'), traceparent: '', body };
      const result = await send(agents.of(webhook.id, webhook), secrets.open(webhook.id, webhook), outgoing);
      return {
        attempt: toAttemptMessage({ ...toLoggedAttempt(result), number: 1 }),
        responseBody: result.responseBody.toString('utf8'),
      };
    });
}

function sampleEvent(id: string) {
  const now = new Date().toISOString();
  const object = {
    id: newId('res'),
    type: 'resource',
    status: 'active',
    name: 'Sample resource',
    metadata: {},
    created_at: now,
    updated_at: now,
  };
  return { id, type: 'resource.created', created_at: now, data: { object } };
}
