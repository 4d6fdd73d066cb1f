import { defineEndpoint } from '../endpoint.ts';
import { contextOf, idOf } from './context.ts';
import { present, renderWebhook } from './render-webhook.ts';
import { single } from './resource-schemas.ts';
import { webhook } from './webhook-schemas.ts';

export const getWebhook = defineEndpoint({
  method: 'get',
  path: '/v1/webhooks/{id}',
  operationId: 'getWebhook',
  summary: 'Get a webhook',
  tag: 'Webhooks',
  scope: 'admin',
  success: { status: 200, description: 'The webhook.', schema: single(webhook) },
  async handle(call) {
    const { workspaceId, environment } = call.principal;
    const { webhook: found } = await call.backend.webhooks.getWebhook(
      { workspaceId, environment, id: idOf(call, 'wh') },
      { context: contextOf(call), signal: call.signal },
    );
    return { status: 200, json: `{"data":${renderWebhook(present(found))}}` };
  },
});
