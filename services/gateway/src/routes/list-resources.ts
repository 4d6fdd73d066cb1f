import { defineEndpoint } from '../endpoint.ts';
import { contextOf } from './context.ts';
import { renderList } from './render-list.ts';
import { renderResource, toStatus } from './render-resource.ts';
import { list, listResourcesQuery, resource } from './resource-schemas.ts';

export const listResources = defineEndpoint({
  method: 'get',
  path: '/v1/resources',
  operationId: 'listResources',
  summary: 'List resources',
  tag: 'Resources',
  scope: 'read',
  query: listResourcesQuery,
  success: { status: 200, description: 'One page of resources.', schema: list(resource) },
  async handle(call) {
    const { status, sort, per_page: perPage, cursor } = call.query;
    const context = contextOf(call);
    const page = await call.backend.listResources(
      { context, status: toStatus(status), pageSize: perPage, pageToken: cursor ?? '', orderBy: sort },
      { context, signal: call.signal },
    );
    const items = page.resources.map(renderResource);
    const json = renderList(items, page, `${call.baseUrl}/v1/resources`, { status, sort, per_page: perPage });
    return { status: 200, json };
  },
});
