import { checkId } from './check-id.ts';
import { defineEndpoint } from './endpoint.ts';
import { oneJson } from './one-json.ts';
import { resourceJson } from './resource-json.ts';
import { oneResource } from './resource-schemas.ts';

export const getResource = defineEndpoint({
  method: 'get',
  path: '/v1/resources/{id}',
  operationId: 'getResource',
  summary: 'Get a resource',
  tag: 'Resources',
  scope: 'read',
  success: { status: 200, description: 'The resource.', schema: oneResource },
  async handle({ id, principal, requestId, traceparent, backend }) {
    checkId('res', id);
    const resource = await backend.getResource({ context: { requestId, traceparent, principal }, id });
    return { status: 200, json: oneJson(resourceJson(resource)) };
  },
});
