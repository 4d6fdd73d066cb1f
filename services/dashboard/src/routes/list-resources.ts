import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { z } from 'zod';
import { resourceDocument, resourceStatusNames, toResourceStatus } from '../documents/resource.ts';
import { tenantEndpoint } from './endpoint.ts';

const sorts = ['-created_at', 'created_at', '-updated_at', 'updated_at', 'name', '-name'] as const;

export const listResources = tenantEndpoint({
  access: 'resources.read',
  method: 'get',
  path: '/resources',
  query: z.strictObject({
    status: z.enum(resourceStatusNames).optional(),
    sort: z.enum(sorts).optional(),
    cursor: z.string().max(2_000).optional(),
  }),
  async handle({ backend, query, context, signal }) {
    const page = await backend.resources.listResources(
      {
        context,
        status: query.status ? toResourceStatus(query.status) : ResourceStatus.UNSPECIFIED,
        orderBy: query.sort ?? '-created_at',
        pageSize: 50,
        pageToken: query.cursor ?? '',
      },
      { context, signal: signal() },
    );
    return {
      data: page.resources.map(resourceDocument),
      total: Number(page.totalSize),
      next: page.nextPageToken || null,
      previous: page.previousPageToken || null,
    };
  },
});
