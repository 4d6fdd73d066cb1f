import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { toEnvironmentMessage } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { readCreatorNames } from './creator-queries.ts';
import type { KeyScope, StoredKey } from './key.ts';
import { type KeyRefusal, readRefusals } from './refusal-queries.ts';
import { type KeyUse, readUses } from './use-queries.ts';

const scopes: EnumNames<KeyScope, Scope> = enumNames(Scope);

/** What clients of a key have done, and the name of its creator. */
interface KeyActivity {
  readonly uses?: readonly KeyUse[] | undefined;
  readonly refusal?: KeyRefusal | undefined;
  readonly creatorName?: string | undefined;
}

/** Returns a function that returns the activity of one of these keys. */
async function readActivity(
  db: Queryable,
  keys: readonly Pick<StoredKey, 'workspaceId' | 'id' | 'createdBy'>[],
): Promise<(key: Pick<StoredKey, 'id' | 'createdBy'>) => KeyActivity> {
  const uses = await readUses(db, keys);
  const refusals = await readRefusals(db, keys);
  const names = await readCreatorNames(db, keys);
  return ({ id, createdBy }) => ({ uses: uses.get(id), refusal: refusals.get(id), creatorName: names.get(createdBy) });
}

/** Converts stored keys to rms.auth.v1.Key, with their activity. */
export async function toKeyMessages(db: Queryable, keys: readonly StoredKey[]) {
  const activityOf = await readActivity(db, keys);
  return keys.map((key) => toKeyMessage(key, activityOf(key)));
}

/** Returns a new key with the name of its creator. A stored response does not contain it, because it can change. */
export async function withCreatorName(db: Queryable, key: Key | undefined): Promise<Key | undefined> {
  if (!key) return undefined;
  const names = await readCreatorNames(db, [key]);
  return { ...key, creatorName: names.get(key.createdBy) ?? '' };
}

/** Converts a stored key to rms.auth.v1.Key. */
export function toKeyMessage(key: StoredKey, { uses = [], refusal, creatorName = '' }: KeyActivity = {}) {
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
    ...(refusal
      ? { lastRefusal: { refuseTime: timestampFromDate(refusal.refusedAt), errorCode: refusal.errorCode } }
      : {}),
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
