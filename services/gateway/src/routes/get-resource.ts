import { defineEndpoint } from '../endpoint.ts';
import { contextOf, idOf } from './context.ts';
import { renderResource } from './render-resource.ts';
import { resource, single } from './resource-schemas.ts';

export const getResource = defineEndpoint({
  method: 'get',
  path: '/v1/resources/{id}',
  operationId: 'getResource',
  summary: 'Get a resource',
  tag: 'Resources',
  scope: 'read',
  success: { status: 200, description: 'The resource.', schema: single(resource) },
  async handle(call) {
    const found = await call.backend.getResource({ context: contextOf(call), id: idOf(call, 'res') });
    return { status: 200, json: `{"data":${renderResource(found)}}` };
  },
});
