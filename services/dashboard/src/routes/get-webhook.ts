import { webhookDocument } from '../documents/webhook.ts';
import { tenantEndpoint } from './endpoint.ts';
import { presentWebhook } from './webhook-parts.ts';

export const getWebhook = tenantEndpoint({
  access: 'webhooks:read',
  method: 'get',
  path: '/webhooks/{id}',
  async handle({ backend, tenant, param, context, signal }) {
    const { webhook } = await backend.webhooks.getWebhook(
      { ...tenant, id: param('id') },
      { context, signal: signal() },
    );
    return webhookDocument(presentWebhook(webhook));
  },
});
