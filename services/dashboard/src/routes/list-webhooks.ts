import { z } from 'zod';
import { webhookDocument } from '../documents/webhook.ts';
import { tenantEndpoint } from './endpoint.ts';

export const listWebhooks = tenantEndpoint({
  access: 'webhooks.read',
  method: 'get',
  path: '/webhooks',
  query: z.strictObject({ cursor: z.string().max(2_000).optional() }),
  async handle({ backend, tenant, query, context, signal }) {
    const page = await backend.webhooks.listWebhooks(
      { ...tenant, pageSize: 100, pageToken: query.cursor ?? '' },
      { context, signal: signal() },
    );
    return {
      data: page.webhooks.map(webhookDocument),
      total: Number(page.totalSize),
      next: page.nextPageToken || null,
      previous: page.previousPageToken || null,
    };
  },
});
