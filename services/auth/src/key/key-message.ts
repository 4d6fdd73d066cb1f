import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { toEnvironmentMessage } from '@rms/tenant';
import type { KeyScope, StoredKey } from './key.ts';
import type { KeyUse } from './use-queries.ts';

const scopes: EnumNames<KeyScope, Scope> = enumNames(Scope);

/** Converts a stored key to rms.auth.v1.Key. */
export function toKeyMessage(key: StoredKey, uses: readonly KeyUse[] = [], creatorName = '') {
  return {
    id: key.id,
    workspaceId: key.workspaceId,
    environment: toEnvironmentMessage(key.environment),
    scope: toScopeMessage(key.scope),
    name: key.name,
    hint: key.hint,
    createTime: timestampFromDate(key.createdAt),
    allowedIps: [...key.allowedIps],
    replacedById: key.replacedById ?? '',
    createdBy: key.createdBy,
    creatorName,
    version: BigInt(key.version),
    uses: uses.map(({ lastUsedAt, address, userAgent, requests }) => ({
      lastUseTime: timestampFromDate(lastUsedAt),
      address,
      userAgent,
      requests: BigInt(requests),
    })),
    ...(key.rateLimitRequests === undefined ? {} : { rateLimitRequests: BigInt(key.rateLimitRequests) }),
    ...(key.expiresAt ? { expireTime: timestampFromDate(key.expiresAt) } : {}),
    ...(key.revokedAt ? { revokeTime: timestampFromDate(key.revokedAt) } : {}),
    ...(key.rolledAt ? { rollTime: timestampFromDate(key.rolledAt) } : {}),
  };
}

export function toScopeMessage(scope: KeyScope): Scope {
  return scopes.toValue(scope);
}

export function fromScopeMessage(scope: Scope): KeyScope {
  const name = scopes.toName(scope);
  if (name) return name;
  throw new RmsError('invalid_request', { details: [{ field: 'scope', message: 'must be read, write or admin' }] });
}
