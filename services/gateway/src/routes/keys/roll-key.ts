import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { toDuration } from '../shared/time-schemas.ts';
import { oneNewKeyOf } from './key-json.ts';
import { defaultOverlapSeconds, oneNewKey, rollKeyBody } from './key-schemas.ts';

export const rollKey = defineEndpoint({
  method: 'post',
  path: '/v1/api_keys/{id}/roll',
  operationId: 'rollApiKey',
  summary: 'Roll an API key',
  description:
    'Creates a key with the same name, scope, allowlist and rate limit. The old key is rejected with ' +
    '`api_key_expired` when the overlap has ended. A key may roll itself. If another API key repeats the ' +
    'Idempotency-Key, its response does not contain the value.',
  tag: 'API keys',
  scope: 'admin',
  idempotent: true,
  conditional: true,
  optionalBody: true,
  body: rollKeyBody,
  success: { status: 201, description: 'The new key with its value.', schema: oneNewKey },
  async handle({ context, id, body, principal, idempotencyKey, backend }) {
    checkId('key', id);
    const { workspaceId, environment } = principal;
    const { key, keyValue, replayed } = await backend.keys.rollKey(
      { workspaceId, environment, id, overlap: toDuration(body.overlap ?? defaultOverlapSeconds), idempotencyKey },
      { context: context() },
    );
    return oneResponse(201, oneNewKeyOf(key, keyValue), replayed);
  },
});
