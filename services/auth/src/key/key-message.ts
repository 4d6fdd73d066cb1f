import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { KeyEnvironment } from '@rms/api-key';
import { RmsError } from '@rms/errors';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import type { KeyScope, StoredKey } from './key.ts';
import type { KeyUse } from './use-queries.ts';

const scopes: EnumNames<KeyScope, Scope> = enumNames(Scope);

/** A stored key as rms.auth.v1.Key. */
export function toKeyMessage(key: StoredKey, uses: readonly KeyUse[] = []) {
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

export function toEnvironmentMessage(environment: KeyEnvironment): Environment {
  return environment === 'live' ? Environment.LIVE : Environment.SANDBOX;
}

/** One environment; unspecified is refused. */
export function fromEnvironmentMessage(environment: Environment): KeyEnvironment {
  if (environment === Environment.LIVE) return 'live';
  if (environment === Environment.SANDBOX) return 'sandbox';
  throw new RmsError('invalid_request', { details: [{ field: 'environment', message: 'must be live or sandbox' }] });
}

export function toScopeMessage(scope: KeyScope): Scope {
  return scopes.toValue(scope);
}

export function fromScopeMessage(scope: Scope): KeyScope {
  const name = scopes.toName(scope);
  if (name) return name;
  throw new RmsError('invalid_request', { details: [{ field: 'scope', message: 'must be read, write or admin' }] });
}
