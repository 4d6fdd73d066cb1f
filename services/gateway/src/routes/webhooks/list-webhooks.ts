import { z } from 'zod';
import { defineEndpoint } from '../shared/endpoint.ts';
import { listOf, listResponse, pageQuery, pageSizeOf } from '../shared/list.ts';
import { readHealth } from './read-health.ts';
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
  async handle(call) {
    const { context, query, principal, backend, baseUrl, signal } = call;
    const { workspaceId, environment } = principal;
    const options = { context: context(), signal: signal() };
    const page = await backend.webhooks.listWebhooks(
      { workspaceId, environment, pageSize: pageSizeOf(query), pageToken: query.cursor ?? '' },
      options,
    );
    const healths = await readHealth(
      call,
      page.webhooks.map(({ id }) => id),
      options,
    );
    const items = page.webhooks.map((item) => webhookJson(item, healths.get(item.id)));
    return listResponse(items, page, baseUrl() + path, query);
  },
});
