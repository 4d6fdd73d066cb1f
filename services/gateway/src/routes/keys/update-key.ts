import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { toTimestamp } from '../shared/time-schemas.ts';
import { oneKeyOf } from './key-json.ts';
import { oneKey, updateKeyBody } from './key-schemas.ts';

export const updateKey = defineEndpoint({
  method: 'patch',
  path: '/v1/api_keys/{id}',
  operationId: 'updateApiKey',
  summary: 'Update an API key',
  description:
    'Changes only the fields in the request. The change is effective at every gateway before the response is sent.',
  tag: 'API keys',
  scope: 'admin',
  conditional: true,
  body: updateKeyBody,
  success: { status: 200, description: 'The updated key.', schema: oneKey },
  async handle({ context, id, body, expectedVersions, principal, backend }) {
    checkId('key', id);
    const { workspaceId, environment } = principal;
    const { name, allowed_ips: allowedIps, rate_limit: rateLimit, expires_at: expiresAt } = body;
    const { key } = await backend.keys.updateKey(
      {
        workspaceId,
        environment,
        id,
        expectedVersions,
        ...(name === undefined ? {} : { name }),
        ...(allowedIps === undefined ? {} : { allowedIps: { cidrs: allowedIps ?? [] } }),
        ...(rateLimit === undefined ? {} : { rateLimit: rateLimit === null ? {} : { requests: BigInt(rateLimit) } }),
        ...(expiresAt === undefined ? {} : { expiry: expiresAt === null ? {} : { time: toTimestamp(expiresAt) } }),
      },
      { context: context() },
    );
    return oneResponse(200, oneKeyOf(key));
  },
});
