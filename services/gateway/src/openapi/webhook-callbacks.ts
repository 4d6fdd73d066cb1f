import { envelopeOf } from '@rms/api';
import { type EventType, eventTypes } from '@rms/base/webhook-events';
import { z } from 'zod';
import type { ZodOpenApiCallbacksObject, ZodOpenApiOperationObject } from 'zod-openapi';

const operations: Readonly<Record<EventType, { operationId: string; summary: string }>> = {
  'resource.created': { operationId: 'onResourceCreated', summary: 'A resource was created' },
  'resource.updated': { operationId: 'onResourceUpdated', summary: 'A resource was changed' },
  'resource.deleted': { operationId: 'onResourceDeleted', summary: 'A resource was deleted' },
  'resource.status_changed': {
    operationId: 'onResourceStatusChanged',
    summary: 'The status of a resource was changed',
  },
  'webhook.disabled': { operationId: 'onWebhookDisabled', summary: 'A webhook was disabled, by a user or the service' },
  'webhook.enabled': { operationId: 'onWebhookEnabled', summary: 'A disabled webhook was enabled' },
  'webhook.failing': { operationId: 'onWebhookFailing', summary: 'The endpoint of a webhook fails' },
  'webhook.recovered': {
    operationId: 'onWebhookRecovered',
    summary: 'The endpoint of a failing webhook succeeds again',
  },
  'delivery.failed': { operationId: 'onDeliveryFailed', summary: 'A delivery has used up its retries' },
  'api_key.created': { operationId: 'onApiKeyCreated', summary: 'An API key was created' },
  'api_key.rolled': { operationId: 'onApiKeyRolled', summary: 'An API key was replaced by a new one' },
  'api_key.revoked': { operationId: 'onApiKeyRevoked', summary: 'An API key was revoked' },
  'api_key.expiring': { operationId: 'onApiKeyExpiring', summary: 'An API key expires soon' },
  'quota.warning': { operationId: 'onQuotaWarning', summary: 'The monthly quota is nearly used up' },
  'quota.exceeded': { operationId: 'onQuotaExceeded', summary: 'The monthly quota is used up' },
};

const text = (description: string, ...examples: string[]) => z.string().describe(description).meta({ examples });
const headers = z.object({
  'webhook-id': text('ID of the event, the same in every attempt.', 'evt_01jc3v9m0w7y8x2k4n6p8q0r2s'),
  'webhook-timestamp': text('Time of the attempt, in seconds since 1970.', '1767323045'),
  'webhook-signature': text(
    'Signatures as defined by Standard Webhooks, separated by spaces: one per valid secret.',
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
  'X-Service-Signature': text(
    'Lowercase hexadecimal HMAC-SHA-256 of the body, keyed with the secret of the webhook.',
    '3f6c8d1b0a9e7f5c4d2b1a0f9e8d7c6b5a4f3e2d1c0b9a8f7e6d5c4b3a2f1e0d',
  ),
  'X-Request-ID': text('Request that caused the event.', 'req_01jc3v9m0w7y8x2k4n6p8q0r2s'),
});

const description = [
  'Sent to the URL of every webhook that receives this event type. Test events have the same form.',
  '**Verify every request** before you use it: compare each signature of `webhook-signature` with `v1,` + base64 of ' +
    'the HMAC-SHA-256 of `webhook-id` + `.` + `webhook-timestamp` + `.` + raw body, keyed with the base64-decoded part ' +
    'of the secret after `whsec_`, and reject a timestamp that differs from your clock by more than five minutes. ' +
    'During a rotation with overlap, the header has a signature for each valid secret. Libraries for Standard Webhooks ' +
    'do this.',
  'Respond with status 200 within 10 seconds, or the `timeout` of the webhook; every other response, also 201, 202 and 204, is a failed attempt. Failed ' +
    'attempts are retried by the schedule of the webhook.',
  'An event can arrive more than once: ignore a `webhook-id` that you have processed. Events can arrive out of order, ' +
    'unless the webhook is ordered.',
].join('\n\n');

/**
 * Returns the requests that a new webhook receives, by event type. They are callbacks of the operation that creates the
 * webhook, because generators of clients create code that does not compile from the section `webhooks`, see
 * docs/adr/0029-openapi-callbacks.md.
 */
export function webhookCallbacks(): ZodOpenApiCallbacksObject {
  return Object.fromEntries(eventTypes.map((type) => [type, { '{$request.body#/url}': { post: operationOf(type) } }]));
}

function operationOf(type: EventType): ZodOpenApiOperationObject {
  return {
    ...operations[type],
    description,
    security: [],
    requestParams: { header: headers },
    requestBody: { required: true, content: { 'application/json': { schema: envelopeOf(type) } } },
    responses: {
      200: { description: 'The event is delivered.' },
      410: { description: 'The endpoint no longer exists: the webhook is disabled, and nothing is retried.' },
      429: { description: 'The attempt has failed. The next one waits for `Retry-After`, at most 24 hours.' },
      503: { description: 'The attempt has failed. The next one waits for `Retry-After`, at most 24 hours.' },
      default: { description: 'The attempt has failed, and is retried.' },
    },
  };
}
