import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { z } from 'zod';
import { defineEndpoint } from '../shared/endpoint.ts';
import { listOf, listResponse, pageQuery, pageSizeOf } from '../shared/list.ts';
import { resourceJson } from './resource-json.ts';
import { resource, status, statusMessages } from './resource-schemas.ts';

const sortFields = ['created_at', 'updated_at', 'name'] as const;

const path = '/v1/resources';

export const listResources = defineEndpoint({
  method: 'get',
  path,
  operationId: 'listResources',
  summary: 'List resources',
  tag: 'Resources',
  scope: 'read',
  query: z.strictObject({
    status: status.optional().describe('Only resources with this status.'),
    ...pageQuery,
    sort: z
      .enum(sortFields.flatMap((field) => [field, `-${field}`] as const))
      .optional()
      .describe(
        'Field to sort by. A leading `-` means descending. Names are sorted without regard to case and accents.',
      )
      .meta({ override: { default: '-created_at' } }),
  }),
  success: { status: 200, description: 'A page of resources.', schema: listOf(resource).meta({ id: 'ResourceList' }) },
  async handle({ query, principal, requestId, backend, baseUrl, signal }) {
    const context = { requestId, principal };
    const page = await backend.listResources(
      {
        context,
        status: query.status ? statusMessages[query.status] : ResourceStatus.UNSPECIFIED,
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
        orderBy: query.sort ?? '',
      },
      { context, signal: signal() },
    );
    return listResponse(page.resources.map(resourceJson), page, baseUrl() + path, query);
  },
});
