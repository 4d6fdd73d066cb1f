import { RmsError } from '@rms/base/errors';
import { z } from 'zod';
import { resourceEventDocument } from '../documents/resource-event.ts';
import { tenantEndpoint } from './endpoint.ts';

const pageSize = 20;

/** Lists a resource's events, newest first, even if the resource has been deleted. */
export const listResourceEvents = tenantEndpoint({
  access: 'resources:read',
  method: 'get',
  path: '/resources/{id}/events',
  query: z.strictObject({ cursor: z.string().max(2_000).optional() }),
  async handle({ backend, tenant, query, param, context, signal }) {
    // Events about other objects are operational, which this permission does not include.
    if (!param('id').startsWith('res_')) throw new RmsError('not_found');
    const page = await backend.events.listEventsOfResource(
      { ...tenant, resourceId: param('id'), pageSize, pageToken: query.cursor ?? '' },
      { context, signal: signal() },
    );
    return { data: page.events.map(resourceEventDocument), next: page.nextPageToken || null };
  },
});
