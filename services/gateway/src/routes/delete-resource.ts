import { defineEndpoint } from '../endpoint.ts';
import { contextOf, idOf } from './context.ts';

export const deleteResource = defineEndpoint({
  method: 'delete',
  path: '/v1/resources/{id}',
  operationId: 'deleteResource',
  summary: 'Delete a resource',
  tag: 'Resources',
  scope: 'write',
  success: { status: 204, description: 'The resource is gone for good.' },
  async handle(call) {
    await call.backend.deleteResource({ context: contextOf(call), id: idOf(call, 'res') });
    return { status: 204 };
  },
});
