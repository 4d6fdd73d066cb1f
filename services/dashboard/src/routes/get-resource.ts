import { resourceDocument } from '../documents/resource.ts';
import { tenantEndpoint } from './endpoint.ts';
import { resourceOf } from './resource-parts.ts';

export const getResource = tenantEndpoint({
  access: 'resources:read',
  method: 'get',
  path: '/resources/{id}',
  async handle({ backend, param, context, signal }) {
    const { results } = await backend.resources.batchGetResources(
      { requests: [{ context, id: param('id') }] },
      { context, signal: signal() },
    );
    return resourceDocument(resourceOf(results[0]));
  },
});
