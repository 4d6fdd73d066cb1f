import { checkId } from './check-id.ts';
import { defineEndpoint } from './endpoint.ts';
import { oneJson } from './one-json.ts';
import { present, webhookJson } from './webhook-json.ts';
import { oneWebhook } from './webhook-schemas.ts';

export const getWebhook = defineEndpoint({
  method: 'get',
  path: '/v1/webhooks/{id}',
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  tag: 'Webhooks',
  scope: 'admin',
  success: { status: 200, description: 'The webhook, without its secret.', schema: oneWebhook },
  async handle({ context, id, principal, backend, signal }) {
    checkId('wh', id);
    const { workspaceId, environment } = principal;
    const { webhook } = await backend.webhooks.getWebhook(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return { status: 200, json: oneJson(webhookJson(present(webhook))) };
  },
});
