import { defineEndpoint } from '../endpoint.ts';
import { contextOf } from './context.ts';
import { renderList } from './render-list.ts';
import { renderWebhook } from './render-webhook.ts';
import { list, pageQuery } from './resource-schemas.ts';
import { webhook } from './webhook-schemas.ts';

export const listWebhooks = defineEndpoint({
  method: 'get',
  path: '/v1/webhooks',
  operationId: 'listWebhooks',
  summary: 'List webhooks',
  tag: 'Webhooks',
  scope: 'admin',
  query: pageQuery,
  success: { status: 200, description: 'One page of webhooks, newest first.', schema: list(webhook) },
  async handle(call) {
    const { workspaceId, environment } = call.principal;
    const { per_page: perPage, cursor } = call.query;
    const page = await call.backend.webhooks.listWebhooks(
      { workspaceId, environment, pageSize: perPage, pageToken: cursor ?? '' },
      { context: contextOf(call), signal: call.signal },
    );
    const items = page.webhooks.map((one) => renderWebhook(one));
    const json = renderList(items, page, `${call.baseUrl}/v1/webhooks`, { per_page: perPage });
    return { status: 200, json };
  },
});
