import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId } from '../shared/single-object.ts';

export const deleteWebhook = defineEndpoint({
  method: 'delete',
  path: '/v1/webhooks/{id}',
  operationId: 'deleteWebhook',
  summary: 'Delete a webhook',
  description: 'Its pending deliveries end as `failed`.',
  tag: 'Webhooks',
  scope: 'admin',
  conditional: true,
  success: { status: 204, description: 'The webhook was deleted.' },
  async handle({ context, id, expectedVersions, principal, backend }) {
    checkId('wh', id);
    const { workspaceId, environment } = principal;
    await backend.webhooks.deleteWebhook({ workspaceId, environment, id, expectedVersions }, { context: context() });
    return { status: 204 };
  },
});
