import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { KeyStatus } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { toKeyGrantMessage } from '@rms/rpc/key-grants';
import { z } from 'zod';
import { checkId, defineEndpoint, type OneObject, oneResponse } from '../endpoint.ts';
import { text } from '../field-schemas.ts';
import { flag, listResponse, pageQuery, pageSizeOf } from '../list.ts';
import { toDuration, toTimestamp } from '../times.ts';
import { fullKeyDocument, keyDocument, newKeyDocument } from './document.ts';
import {
  createKeyBody,
  defaultOverlapSeconds,
  keyList,
  oneFullKey,
  oneNewKey,
  rollKeyBody,
  statusNames,
  updateKeyBody,
} from './schema.ts';

const statuses = enumNames(KeyStatus);

const listQuery = z.strictObject({
  status: z.enum(statusNames).optional().describe('Only keys with this status.'),
  name: text(1, 100).optional().describe('Only keys whose name contains this text (case-insensitive).'),
  ...pageQuery,
});

const listQueryOfUsers = listQuery.extend({
  valid: flag.describe('true: only keys that are accepted.'),
  own_limit: flag.describe('true: only keys with their own rate limit.'),
});

const listKeys = defineEndpoint<z.infer<typeof listQueryOfUsers>, unknown>({
  method: 'get',
  path: '/v1/api_keys',
  operationId: 'listApiKeys',
  summary: 'List API keys',
  description:
    'Newest first. With a filter, a page can have fewer items than `per_page`, or none, although `links.next` is ' +
    'set, because each request reads at most 100,000 keys.',
  tag: 'API keys',
  permission: 'keys:read',
  query: listQuery,
  queryOfUsers: listQueryOfUsers,
  success: { status: 200, description: 'A page of keys.', schema: keyList },
  async handle({ context, query, tenant, backend, url, signal }) {
    const { workspaceId, environment } = tenant;
    const { keys, ...page } = await backend.keys.listKeys(
      {
        workspaceId,
        environment,
        status: query.status ? statuses.toValue(query.status) : KeyStatus.UNSPECIFIED,
        namePart: query.name ?? '',
        validOnly: query.valid === 'true',
        ownLimitOnly: query.own_limit === 'true',
        pageSize: pageSizeOf(query),
        pageToken: query.cursor ?? '',
      },
      { context: context(), signal: signal() },
    );
    return listResponse(
      keys.map((key) => JSON.stringify(keyDocument(key))),
      page,
      url(),
      query,
    );
  },
});

/** auth also requires the new key's permissions (`permissionsToCreateKey`), as for rolling a key. */
const createKey = defineEndpoint({
  method: 'post',
  path: '/v1/api_keys',
  operationId: 'createApiKey',
  summary: 'Create an API key',
  description:
    'The key belongs to the workspace and environment of the request, and has no permission that the calling key ' +
    'lacks. The response contains the value, which is shown only once. If another API key repeats the ' +
    'Idempotency-Key, its response does not contain the value.',
  tag: 'API keys',
  permission: 'keys:write',
  idempotent: true,
  conditional: true,
  body: createKeyBody,
  success: { status: 201, description: 'The new key with its value.', schema: oneNewKey },
  async handle({ context, body, tenant, idempotencyKey, backend }) {
    const { workspaceId, environment } = tenant;
    const { key, keyValue, replayed } = await backend.keys.createKey(
      {
        workspaceId,
        environment,
        name: body.name,
        ...toKeyGrantMessage({ scope: body.scope, permissions: body.permissions ?? [] }),
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

const getKey = defineEndpoint({
  method: 'get',
  path: '/v1/api_keys/{id}',
  operationId: 'getApiKey',
  summary: 'Get an API key',
  tag: 'API keys',
  permission: 'keys:read',
  conditional: true,
  success: { status: 200, description: 'The key with its recent clients, without its value.', schema: oneFullKey },
  async handle({ context, id, tenant, backend, signal }) {
    checkId('key', id);
    const { workspaceId, environment } = tenant;
    const { key } = await backend.keys.getKey(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, oneFullKeyOf(key));
  },
});

const updateKey = defineEndpoint({
  method: 'patch',
  path: '/v1/api_keys/{id}',
  operationId: 'updateApiKey',
  summary: 'Update an API key',
  description:
    'Changes only the fields in the request. The change is effective at every gateway before the response is sent.',
  tag: 'API keys',
  permission: 'keys:write',
  conditional: true,
  body: updateKeyBody,
  success: { status: 200, description: 'The updated key.', schema: oneFullKey },
  async handle({ context, id, body, expectedVersions, tenant, backend }) {
    checkId('key', id);
    const { workspaceId, environment } = tenant;
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
    return oneResponse(200, oneFullKeyOf(key));
  },
});

const rollKey = defineEndpoint({
  method: 'post',
  path: '/v1/api_keys/{id}/roll',
  operationId: 'rollApiKey',
  summary: 'Roll an API key',
  description:
    'Creates a key with the same name, scope, permissions, allowlist and rate limit. The old key is rejected with ' +
    '`api_key_expired` when the overlap has ended. A key may roll itself. If another API key repeats the ' +
    'Idempotency-Key, its response does not contain the value.',
  tag: 'API keys',
  permission: 'keys:write',
  idempotent: true,
  conditional: true,
  optionalBody: true,
  body: rollKeyBody,
  success: { status: 201, description: 'The new key with its value.', schema: oneNewKey },
  async handle({ context, id, body, tenant, idempotencyKey, backend }) {
    checkId('key', id);
    const { workspaceId, environment } = tenant;
    const { key, keyValue, replayed } = await backend.keys.rollKey(
      { workspaceId, environment, id, overlap: toDuration(body.overlap ?? defaultOverlapSeconds), idempotencyKey },
      { context: context() },
    );
    return oneResponse(201, oneNewKeyOf(key, keyValue), replayed);
  },
});

const revokeKey = defineEndpoint({
  method: 'delete',
  path: '/v1/api_keys/{id}',
  operationId: 'revokeApiKey',
  summary: 'Revoke an API key',
  description:
    'Every gateway rejects the key when the response is sent. A key may revoke itself. A revoked key remains in the ' +
    'list; revoking it again is not an error.',
  tag: 'API keys',
  permission: 'keys:write',
  conditional: true,
  success: { status: 204, description: 'The key was revoked.' },
  async handle({ context, id, expectedVersions, tenant, backend }) {
    checkId('key', id);
    const { workspaceId, environment } = tenant;
    await backend.keys.revokeKey({ workspaceId, environment, id, expectedVersions }, { context: context() });
    return { status: 204 };
  },
});

/** Returns a new key for a response with one object. */
function oneNewKeyOf(key: Key | undefined, value: string): OneObject {
  const json = JSON.stringify(newKeyDocument(key, value));
  return { json, stableJson: JSON.stringify(keyDocument(key)), version: key?.version ?? 0n };
}

/** Returns a key for a response with one object. */
function oneFullKeyOf(key: Key | undefined): OneObject {
  return { json: JSON.stringify(fullKeyDocument(key)), version: key?.version ?? 0n };
}

export const keyEndpoints = [listKeys, createKey, getKey, updateKey, rollKey, revokeKey];
