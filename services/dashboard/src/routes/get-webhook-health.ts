import { RmsError } from '@rms/base/errors';
import { webhookHealthDocument } from '../documents/webhook-health.ts';
import { tenantEndpoint } from './endpoint.ts';

export const getWebhookHealth = tenantEndpoint({
  access: 'webhooks:read',
  method: 'get',
  path: '/webhooks/{id}/health',
  async handle({ backend, tenant, param, context, signal }) {
    const { healths } = await backend.webhooks.batchGetWebhookHealth(
      { ...tenant, ids: [param('id')] },
      { context, signal: signal() },
    );
    const [health] = healths;
    if (!health) throw new RmsError('not_found', { message: `There is no webhook "${param('id')}".` });
    return webhookHealthDocument(health);
  },
});
