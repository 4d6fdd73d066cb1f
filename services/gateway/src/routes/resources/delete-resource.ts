import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId } from '../shared/single-object.ts';

export const deleteResource = defineEndpoint({
  method: 'delete',
  path: '/v1/resources/{id}',
  operationId: 'deleteResource',
  summary: 'Delete a resource',
  description: 'Deletes the resource and its metadata permanently. Emits `resource.deleted`.',
  tag: 'Resources',
  scope: 'write',
  conditional: true,
  success: { status: 204, description: 'The resource was deleted.' },
  async handle({ id, expectedVersions, principal, requestId, trace, backend }) {
    checkId('res', id);
    await backend.deleteResource({ context: { requestId, ...trace, principal }, id, expectedVersions });
    return { status: 204 };
  },
});
