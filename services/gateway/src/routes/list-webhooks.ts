import { z } from 'zod';
import { defineEndpoint } from './endpoint.ts';
import { listAnswer, listOf, pageQuery, pageSizeOf } from './list.ts';
import { webhookJson } from './webhook-json.ts';
import { webhook } from './webhook-schemas.ts';

const path = '/v1/webhooks';

export const listWebhooks = defineEndpoint({
  method: 'get',
  path,
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  description: 'Newest first.',
  tag: 'Webhooks',
  scope: 'admin',
  query: z.strictObject(pageQuery),
  success: { status: 200, description: 'A page of webhooks.', schema: listOf(webhook).meta({ id: 'WebhookList' }) },
  async handle({ context, query, principal, backend, baseUrl, signal }) {
    const { workspaceId, environment } = principal;
    const page = await backend.webhooks.listWebhooks(
      { workspaceId, environment, pageSize: pageSizeOf(query), pageToken: query.cursor ?? '' },
      { context: context(), signal: signal() },
    );
    const items = page.webhooks.map((item) => webhookJson(item));
    return listAnswer(items, page, baseUrl() + path, query);
  },
});
