import { attemptDocument, type TestDocument } from '../documents/delivery.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Sends a sample event and returns its body and the endpoint's response. */
export const testWebhook = tenantEndpoint({
  access: 'deliveries.send',
  method: 'post',
  path: '/webhooks/{id}/test',
  async handle({ backend, tenant, param, context }): Promise<TestDocument> {
    const { attempt, requestBody, responseBody } = await backend.webhooks.testWebhook(
      { ...tenant, id: param('id') },
      { context },
    );
    if (!attempt) throw new Error('webhooks returned no attempt');
    return { ...attemptDocument(attempt), request_body: requestBody, response_body: { text: responseBody } };
  },
});
