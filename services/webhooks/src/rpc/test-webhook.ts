import { appendAudit } from '@rms/audit';
import { RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import { TestWebhookResponseSchema, type WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { toScope, toTenant } from '@rms/tenant';
import { send } from '../delivery/attempt/send.ts';
import { toLoggedAttempt } from '../log/attempt.ts';
import { toAttemptMessage } from '../log/delivery-message.ts';
import { countTest } from '../subscription/test-count-queries.ts';
import { checkEvents } from '../subscription/webhook.ts';
import { webhookEntry } from '../subscription/webhook-audit.ts';
import { findWebhook } from '../subscription/webhook-queries.ts';
import { found, type HandlerParts } from './parts.ts';

/**
 * Test deliveries per minute, per workspace and environment. They are not subject to the limits of the delivery engine.
 */
const testsPerMinute = 10;

/**
 * Sends one sample event immediately, regardless of the webhook's status and event types. It is not retried. The audit
 * log has an entry for it, the delivery log has none. Throws `rate_limit_exceeded` above {@link testsPerMinute}.
 */
export function testWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['testWebhook'] {
  const { idempotency, agents, secrets } = parts;
  return async (request, context) => {
    const eventType = request.eventType || 'resource.created';
    if (eventType === '*' || checkEvents([eventType]).length > 0) {
      throw new RmsError('invalid_request', { details: [{ field: 'event_type', message: 'must be an event type' }] });
    }
    const idempotent = {
      tenant: () => toTenant(request),
      operation: 'test webhook',
      key: request.idempotencyKey,
      content: [request.id, eventType],
    };
    const { response, replayed } = await idempotency.onceAround(idempotent, TestWebhookResponseSchema, {
      async prepare(tx) {
        const webhook = found(await findWebhook(tx, toScope(request), request.id), 'webhook', request.id);
        if (!(await countTest(tx, webhook, testsPerMinute))) {
          throw new RmsError('rate_limit_exceeded', {
            message: `A workspace can test its webhooks ${testsPerMinute} times per minute in each environment. Try again later.`,
            retryAfterSeconds: 60,
          });
        }
        await appendAudit(tx, context, [
          webhookEntry(webhook, { action: 'webhook.tested', details: { event_type: eventType } }),
        ]);
        return webhook;
      },
      async act(webhook) {
        const { url } = webhook;
        const eventId = newId('evt');
        const sample = JSON.stringify(sampleEvent(eventId, eventType));
        const requestId = context.requestId || newId('req');
        const ref = { ...webhook, webhookId: webhook.id };
        const outgoing = { url, eventId, requestId, traceparent: '', body: Buffer.from(sample) };
        const result = await send(agents.of(ref, webhook), secrets.open(ref, webhook), outgoing);
        return {
          attempt: toAttemptMessage({ ...toLoggedAttempt(result), number: 1 }),
          responseBody: result.responseBody.toString('utf8'),
          requestBody: sample,
          url,
        };
      },
    });
    return { ...response, replayed };
  };
}

/** Returns an event about a resource that does not exist. */
function sampleEvent(id: string, type: string) {
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
  const previous: Readonly<Record<string, object>> = {
    'resource.updated': { previous_attributes: { name: 'Old name' } },
    'resource.status_changed': { previous_attributes: { status: 'inactive' } },
  };
  return { id, type, created_at: now, data: { object, ...previous[type] } };
}
