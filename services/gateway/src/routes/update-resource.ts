import { checkId } from './check-id.ts';
import { defineEndpoint } from './endpoint.ts';
import { oneJson } from './one-json.ts';
import { resourceJson } from './resource-json.ts';
import { oneResource, statusMessages, updateResourceBody } from './resource-schemas.ts';

export const updateResource = defineEndpoint({
  method: 'patch',
  path: '/v1/resources/{id}',
  operationId: 'updateResource',
  summary: 'Update a resource',
  description:
    'Only the fields that are sent are changed. Emits `resource.updated`, and `resource.status_changed` if the status ' +
    'changes; nothing if nothing changes.',
  tag: 'Resources',
  scope: 'write',
  body: updateResourceBody,
  success: { status: 200, description: 'The resource after the change.', schema: oneResource },
  async handle({ id, body, principal, requestId, traceparent, backend }) {
    checkId('res', id);
    const { name, status, metadata } = body;
    const resource = await backend.updateResource({
      context: { requestId, traceparent, principal },
      id,
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status: statusMessages[status] }),
      ...(metadata === undefined ? {} : { metadataJson: JSON.stringify(metadata) }),
    });
    return { status: 200, json: oneJson(resourceJson(resource)) };
  },
});
