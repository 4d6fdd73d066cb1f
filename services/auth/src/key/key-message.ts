import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type FieldViolation, RmsError } from '@rms/base/errors';
import { type KeyGrant, keyPermissions } from '@rms/base/roles';
import { toEnvironmentMessage } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import { fromKeyGrantMessage, type KeyGrantMessage, toKeyGrantMessage } from '@rms/rpc';
import { readCreatorNames } from './creator-queries.ts';
import type { StoredKey } from './key.ts';
import { type KeyRefusal, readRefusals } from './refusal-queries.ts';
import { type KeyUse, readUses } from './use-queries.ts';

/** What clients of a key have done, and the name of its creator. */
interface KeyActivity {
  readonly uses?: readonly KeyUse[] | undefined;
  readonly refusal?: KeyRefusal | undefined;
  readonly creatorName?: string | undefined;
}

/** Returns a function that returns the activity of any of these keys. */
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
    ...toKeyGrantMessage(key),
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

/** Returns the scope and permissions of a new key. Throws `invalid_request` for an unknown or missing one. */
export function checkedGrantOf({ scope, permissions }: KeyGrantMessage): KeyGrant {
  const grant = fromKeyGrantMessage({ scope, permissions });
  const known: readonly string[] = keyPermissions;
  const details: FieldViolation[] = permissions.flatMap((name, i) =>
    known.includes(name) ? [] : { field: `permissions.${i}`, message: `must be one of ${known.join(', ')}` },
  );
  if (grant.scope !== 'restricted' && permissions.length > 0)
    details.push({ field: 'permissions', message: 'only a restricted key has permissions' });
  if (grant.scope === 'restricted' && permissions.length === 0)
    details.push({ field: 'permissions', message: 'a restricted key needs at least one permission' });
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return { ...grant, permissions: [...new Set(grant.permissions)].sort() };
}
