import { z } from 'zod';
import { resourceDocument, resourceStatuses } from '../documents/resource.ts';
import { tenantEndpoint } from './endpoint.ts';
import { metadataBody, resourceOf } from './resource-parts.ts';

/** Changes the given fields of a resource. */
export const updateResource = tenantEndpoint({
  access: 'resources:write',
  method: 'patch',
  path: '/resources/{id}',
  body: z
    .strictObject({
      name: z.string().max(10_000),
      status: z.enum(resourceStatuses.names),
      metadata: metadataBody,
    })
    .partial(),
  async handle({ backend, body, param, context }) {
    const { name, status, metadata } = body;
    const request = {
      context,
      id: param('id'),
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status: resourceStatuses.toValue(status) }),
      ...(metadata === undefined ? {} : { metadataJson: JSON.stringify(metadata) }),
    };
    const { results } = await backend.resources.batchUpdateResources({ requests: [request] }, { context });
    return resourceDocument(resourceOf(results[0]));
  },
});
