import { defineEndpoint } from '../shared/endpoint.ts';
import { oneResponse } from '../shared/single-object.ts';
import { toTimestamp } from '../shared/time-schemas.ts';
import { oneNewKeyOf, scopeMessages } from './key-json.ts';
import { createKeyBody, oneNewKey } from './key-schemas.ts';

export const createKey = defineEndpoint({
  method: 'post',
  path: '/v1/api_keys',
  operationId: 'createApiKey',
  summary: 'Create an API key',
  description:
    'The key belongs to the workspace and environment of the request, and its scope is at most the scope of the ' +
    'calling key. The response contains the value, which is shown only once. If another API key repeats the ' +
    'Idempotency-Key, its response does not contain the value.',
  tag: 'API keys',
  scope: 'admin',
  idempotent: true,
  conditional: true,
  body: createKeyBody,
  success: { status: 201, description: 'The new key with its value.', schema: oneNewKey },
  async handle({ context, body, principal, idempotencyKey, backend }) {
    const { workspaceId, environment } = principal;
    const { key, keyValue, replayed } = await backend.keys.createKey(
      {
        workspaceId,
        environment,
        name: body.name,
        scope: scopeMessages.toValue(body.scope),
        allowedIps: body.allowed_ips ?? [],
        idempotencyKey,
        ...(body.expires_at == null ? {} : { expireTime: toTimestamp(body.expires_at) }),
        ...(body.rate_limit == null ? {} : { rateLimitRequests: BigInt(body.rate_limit) }),
      },
      { context: context() },
    );
    return oneResponse(201, oneNewKeyOf(key, keyValue), replayed);
  },
});
