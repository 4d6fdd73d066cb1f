import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId } from '../shared/single-object.ts';

export const revokeKey = defineEndpoint({
  method: 'delete',
  path: '/v1/api_keys/{id}',
  operationId: 'revokeApiKey',
  summary: 'Revoke an API key',
  description:
    'Every gateway rejects the key when the response is sent. A key may revoke itself. A revoked key remains in the ' +
    'list; revoking it again is not an error.',
  tag: 'API keys',
  scope: 'admin',
  conditional: true,
  success: { status: 204, description: 'The key was revoked.' },
  async handle({ context, id, expectedVersions, principal, backend }) {
    checkId('key', id);
    const { workspaceId, environment } = principal;
    await backend.keys.revokeKey({ workspaceId, environment, id, expectedVersions }, { context: context() });
    return { status: 204 };
  },
});
