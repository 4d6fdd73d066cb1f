import { checkId } from './check-id.ts';
import { defineEndpoint } from './endpoint.ts';

export const deleteWebhook = defineEndpoint({
  method: 'delete',
  path: '/v1/webhooks/{id}',
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Its pending deliveries end.',
  tag: 'Webhooks',
  scope: 'admin',
  success: { status: 204, description: 'The webhook is gone.' },
  async handle({ context, id, principal, backend }) {
    checkId('wh', id);
    const { workspaceId, environment } = principal;
    await backend.webhooks.deleteWebhook({ workspaceId, environment, id }, { context: context() });
    return { status: 204 };
  },
});
