import { z } from 'zod';
import { webhookDocument } from '../documents/webhook.ts';
import { type WebhookHealthDocument, webhookHealthDocument } from '../documents/webhook-health.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Lists webhooks, newest first. */
export const listWebhooks = tenantEndpoint({
  access: 'webhooks:read',
  method: 'get',
  path: '/webhooks',
  query: z.strictObject({
    cursor: z.string().max(2_000).optional(),
    /** Also returns the health of their endpoints. */
    with: z.literal('health').optional(),
  }),
  async handle({ backend, tenant, query, context, signal }) {
    const page = await backend.webhooks.listWebhooks(
      { ...tenant, pageSize: 100, pageToken: query.cursor ?? '' },
      { context, signal: signal() },
    );
    const ids = page.webhooks.map(({ id }) => id);
    const healths = new Map<string, WebhookHealthDocument>();
    if (query.with === 'health' && ids.length > 0) {
      const found = await backend.webhooks.batchGetWebhookHealth({ ...tenant, ids }, { context, signal: signal() });
      for (const health of found.healths) healths.set(health.webhookId, webhookHealthDocument(health));
    }
    return {
      data: page.webhooks.map((webhook) => ({ ...webhookDocument(webhook), health: healths.get(webhook.id) ?? null })),
      total: Number(page.totalSize),
      next: page.nextPageToken || null,
      previous: page.previousPageToken || null,
    };
  },
});
