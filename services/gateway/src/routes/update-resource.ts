import { defineEndpoint } from '../endpoint.ts';
import { contextOf, idOf } from './context.ts';
import { renderResource, toStatus } from './render-resource.ts';
import { resource, single, updateResourceBody } from './resource-schemas.ts';

export const updateResource = defineEndpoint({
  method: 'patch',
  path: '/v1/resources/{id}',
  operationId: 'updateResource',
  summary: 'Update a resource',
  tag: 'Resources',
  scope: 'write',
  body: updateResourceBody,
  success: { status: 200, description: 'The resource after the update.', schema: single(resource) },
  async handle(call) {
    const { name, status, metadata } = call.body;
    const updated = await call.backend.updateResource({
      context: contextOf(call),
      id: idOf(call, 'res'),
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status: toStatus(status) }),
      ...(metadata === undefined ? {} : { metadataJson: JSON.stringify(metadata) }),
    });
    return { status: 200, json: `{"data":${renderResource(updated)}}` };
  },
});
