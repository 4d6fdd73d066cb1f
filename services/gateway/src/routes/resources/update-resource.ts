import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { oneResourceOf } from './resource-json.ts';
import { oneResource, statusMessages, updateResourceBody } from './resource-schemas.ts';

export const updateResource = defineEndpoint({
  method: 'patch',
  path: '/v1/resources/{id}',
  operationId: 'updateResource',
  summary: 'Update a resource',
  description:
    'Changes only the fields in the request. Emits `resource.updated`, and `resource.status_changed` if the status ' +
    'changes. Emits nothing if the request changes nothing.',
  tag: 'Resources',
  scope: 'write',
  body: updateResourceBody,
  conditional: true,
  success: { status: 200, description: 'The updated resource.', schema: oneResource },
  async handle({ id, body, expectedVersions, principal, requestId, trace, backend }) {
    checkId('res', id);
    const { name, status, metadata } = body;
    const resource = await backend.updateResource({
      context: { requestId, ...trace, principal },
      id,
      expectedVersions,
      ...(name === undefined ? {} : { name }),
      ...(status === undefined ? {} : { status: statusMessages[status] }),
      ...(metadata === undefined ? {} : { metadataJson: JSON.stringify(metadata) }),
    });
    return oneResponse(200, oneResourceOf(resource));
  },
});
