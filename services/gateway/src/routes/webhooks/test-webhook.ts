import { eventTypes } from '@rms/webhook-events';
import { z } from 'zod';
import { deliveryId } from '../deliveries/delivery-schemas.ts';
import { attemptDocument, attemptFields } from '../shared/attempt.ts';
import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneJson, replayedHeader } from '../shared/single-object.ts';

/** Longer than the 10 seconds that an endpoint has to respond. */
const timeoutMs = 15_000;

const { number: _, ...fields } = attemptFields;

export const testWebhook = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks/{id}/test',
  operationId: 'testWebhook',
  summary: 'Send a test event',
  description:
    'Sends a sample event immediately, regardless of the status of the webhook, and returns the attempt. The attempt is ' +
    'not retried. The delivery log has it as a test delivery, which no success rate or alert counts. ' +
    'At most 10 tests per minute, workspace and environment. ' +
    'The response can take more than 10 seconds.',
  tag: 'Webhooks',
  scope: 'admin',
  idempotent: true,
  optionalBody: true,
  body: z
    .strictObject({
      event_type: z
        .enum(eventTypes)
        .optional()
        .describe('Type of the sample event, which the webhook must receive. Default: the first such type.'),
    })
    .meta({ id: 'TestWebhook', example: { event_type: 'resource.updated' } }),
  success: {
    status: 200,
    description: 'The attempt, whether it succeeded or not.',
    schema: z.strictObject({
      data: z.strictObject({ delivery_id: deliveryId, ...fields }).meta({ id: 'TestAttempt' }),
    }),
  },
  async handle({ context, id, body, principal, idempotencyKey, backend }) {
    checkId('wh', id);
    const { workspaceId, environment } = principal;
    const response = await backend.webhooks.testWebhook(
      { workspaceId, environment, id, eventType: body.event_type ?? '', idempotencyKey },
      { context: context(), timeoutMs },
    );
    const { attempt, url, requestBody, deliveryId: delivery_id, replayed } = response;
    if (!attempt) throw new Error('the webhooks service returned no attempt');
    const { number: _number, ...document } = attemptDocument(attempt, { url, body: requestBody });
    return {
      status: 200,
      json: oneJson(JSON.stringify({ delivery_id, ...document })),
      headers: replayedHeader(replayed),
    };
  },
});
