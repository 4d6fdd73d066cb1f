import { ResourceStatus } from '@rms/proto/rms/resources/v1/resource_pb';
import { z } from 'zod';
import { resourceDocument, resourceStatuses } from '../documents/resource.ts';
import { tenantEndpoint } from './endpoint.ts';

const sorts = ['-created_at', 'created_at', '-updated_at', 'updated_at', 'name', '-name'] as const;

export const listResources = tenantEndpoint({
  access: 'resources:read',
  method: 'get',
  path: '/resources',
  query: z.strictObject({
    status: z.enum(resourceStatuses.names).optional(),
    sort: z.enum(sorts).optional(),
    /** Name prefix; the result is sorted by name. */
    name: z.string().max(255).optional(),
    cursor: z.string().max(2_000).optional(),
  }),
  async handle({ backend, query, context, signal }) {
    const page = await backend.resources.listResources(
      {
        context,
        status: query.status ? resourceStatuses.toValue(query.status) : ResourceStatus.UNSPECIFIED,
        orderBy: orderOf(query),
        namePrefix: query.name ?? '',
        pageSize: 50,
        pageToken: query.cursor ?? '',
      },
      { context, signal: signal() },
    );
    return {
      data: page.resources.map(resourceDocument),
      // Resources with a name prefix are not counted.
      total: query.name ? null : Number(page.totalSize),
      next: page.nextPageToken || null,
      previous: page.previousPageToken || null,
    };
  },
});

function orderOf({ sort, name }: { sort?: string | undefined; name?: string | undefined }): string {
  if (name) return sort === '-name' ? '-name' : 'name';
  return sort ?? '-created_at';
}
