import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { readHealth } from './read-health.ts';
import { oneWebhookOf } from './webhook-json.ts';
import { oneWebhook } from './webhook-schemas.ts';

export const getWebhook = defineEndpoint({
  method: 'get',
  path: '/v1/webhooks/{id}',
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  tag: 'Webhooks',
  scope: 'admin',
  conditional: true,
  success: { status: 200, description: 'The webhook, without its secret.', schema: oneWebhook },
  async handle(call) {
    const { context, id, principal, backend, signal } = call;
    checkId('wh', id);
    const { workspaceId, environment } = principal;
    const options = { context: context(), signal: signal() };
    const [{ webhook }, healths] = await Promise.all([
      backend.webhooks.getWebhook({ workspaceId, environment, id }, options),
      readHealth(call, [id], options),
    ]);
    return oneResponse(200, oneWebhookOf(webhook, healths.get(id)));
  },
});
