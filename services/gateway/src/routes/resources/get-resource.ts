import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { oneResourceOf } from './resource-json.ts';
import { oneResource } from './resource-schemas.ts';

export const getResource = defineEndpoint({
  method: 'get',
  path: '/v1/resources/{id}',
  operationId: 'getResource',
  summary: 'Get a resource',
  tag: 'Resources',
  scope: 'read',
  conditional: true,
  success: { status: 200, description: 'The resource.', schema: oneResource },
  async handle({ id, principal, requestId, trace, backend }) {
    checkId('res', id);
    const resource = await backend.getResource({ context: { requestId, ...trace, principal }, id });
    return oneResponse(200, oneResourceOf(resource));
  },
});
