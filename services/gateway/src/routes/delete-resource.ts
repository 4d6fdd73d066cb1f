import { checkId } from './check-id.ts';
import { defineEndpoint } from './endpoint.ts';

export const deleteResource = defineEndpoint({
  method: 'delete',
  path: '/v1/resources/{id}',
  operationId: 'deleteResource',
  summary: 'Delete a resource',
  description: 'Permanent: what belongs to the resource is removed as well. Emits `resource.deleted`.',
  tag: 'Resources',
  scope: 'write',
  success: { status: 204, description: 'The resource is gone.' },
  async handle({ id, principal, requestId, traceparent, backend }) {
    checkId('res', id);
    await backend.deleteResource({ context: { requestId, traceparent, principal }, id });
    return { status: 204 };
  },
});
