import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { oneKeyOf } from './key-json.ts';
import { oneKey } from './key-schemas.ts';

export const getKey = defineEndpoint({
  method: 'get',
  path: '/v1/api_keys/{id}',
  operationId: 'getApiKey',
  summary: 'Get an API key',
  tag: 'API keys',
  scope: 'admin',
  conditional: true,
  success: { status: 200, description: 'The key with its recent clients, without its value.', schema: oneKey },
  async handle({ context, id, principal, backend, signal }) {
    checkId('key', id);
    const { workspaceId, environment } = principal;
    const { key } = await backend.keys.getKey(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, oneKeyOf(key));
  },
});
