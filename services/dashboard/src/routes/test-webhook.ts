import { z } from 'zod';
import { attemptDocument, type TestDocument } from '../documents/delivery.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Sends a sample event and returns its body and the endpoint's response. */
export const testWebhook = tenantEndpoint({
  access: 'deliveries.send',
  method: 'post',
  path: '/webhooks/{id}/test',
  body: z.strictObject({ event_type: z.string().max(100) }),
  async handle({ backend, tenant, param, body, idempotencyKey, context }): Promise<TestDocument> {
    const { attempt, requestBody, responseBody, deliveryId } = await backend.webhooks.testWebhook(
      { ...tenant, id: param('id'), idempotencyKey, eventType: body.event_type },
      { context },
    );
    if (!attempt) throw new Error('webhooks returned no attempt');
    return {
      ...attemptDocument(attempt),
      delivery_id: deliveryId,
      request_body: requestBody,
      response_body: { text: responseBody },
    };
  },
});
