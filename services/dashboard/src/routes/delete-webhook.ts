import { tenantEndpoint } from './endpoint.ts';

export const deleteWebhook = tenantEndpoint({
  access: 'webhooks:write',
  method: 'delete',
  path: '/webhooks/{id}',
  async handle({ backend, tenant, param, context }) {
    await backend.webhooks.deleteWebhook({ ...tenant, id: param('id') }, { context });
    return undefined;
  },
});
