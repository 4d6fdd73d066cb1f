import { defineEndpoint } from '../endpoint.ts';
import { contextOf, idOf } from './context.ts';

export const deleteWebhook = defineEndpoint({
  method: 'delete',
  path: '/v1/webhooks/{id}',
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  tag: 'Webhooks',
  scope: 'admin',
  success: { status: 204, description: 'The webhook is gone; nothing more is sent to it.' },
  async handle(call) {
    const { workspaceId, environment } = call.principal;
    await call.backend.webhooks.deleteWebhook(
      { workspaceId, environment, id: idOf(call, 'wh') },
      { context: contextOf(call) },
    );
    return { status: 204 };
  },
});
