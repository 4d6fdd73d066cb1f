import { RmsError } from '@rms/base/errors';
import { keyMay, may, permissions, permissionsToCreateKey } from '@rms/base/roles';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import { type RpcContext, userOfActor } from '@rms/rpc';
import { actingIn } from '../member/acting.ts';
import { requirePermission } from '../member/member.ts';
import { roleOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { type StoredKey, verdictFor } from './key.ts';
import { creatorOfKey, type KeyRef, lockKeys } from './key-queries.ts';

/** Returns the API key that makes a call; empty for users and operators. */
export function grantingKey({ actor, principal }: Pick<RpcContext, 'actor' | 'principal'>): KeyRef[] {
  if (actor !== '' || !principal) return [];
  const { workspaceId, environment, keyId: id } = principal;
  return [{ workspaceId, environments: [fromEnvironmentMessage(environment)], id }];
}

/**
 * Returns a key, locked until the transaction ends. Throws `not_found`, and the errors of {@link checkGrant}: a caller may
 * change or roll exactly the keys that it may create.
 */
export async function lockToChange(
  tx: Queryable,
  context: Pick<RpcContext, 'actor' | 'principal'>,
  ref: KeyRef,
  now: Date,
): Promise<StoredKey> {
  const { workspaceId, environments, id } = ref;
  const locked = await lockKeys(tx, [ref, ...grantingKey(context)]);
  const key = locked.find(
    (one) => one.id === id && one.workspaceId === workspaceId && environments.includes(one.environment),
  );
  const changed = found(key, 'key', id);
  await checkGrant(tx, context, locked, changed, now);
  return changed;
}

/**
 * Checks that the caller may create a key. An API key must be valid, belong to the same workspace and environment, and
 * have every permission of the new key. So must a user's role. Throws `invalid_api_key`, `api_key_expired`,
 * `insufficient_scope` or `insufficient_role`. Does nothing for operators.
 * @param locked keys that the transaction has locked, among them the granting key, so that a key that is being revoked
 *   does not create another one afterwards
 */
export async function checkGrant(
  tx: Queryable,
  context: Pick<RpcContext, 'actor' | 'principal'>,
  locked: readonly StoredKey[],
  created: Pick<StoredKey, 'workspaceId' | 'environment' | 'scope' | 'permissions'>,
  now: Date,
): Promise<void> {
  if (userOfActor(context.actor) !== undefined) {
    const acting = await actingIn(tx, created.workspaceId, context.actor);
    for (const permission of permissionsToCreateKey(created)) requirePermission(acting, permission);
  }
  for (const { id } of grantingKey(context)) {
    const key = locked.find((one) => one.id === id);
    const verdict = key ? verdictFor(key, created.environment, now) : 'invalid';
    if (!key || verdict === 'invalid' || key.workspaceId !== created.workspaceId) throw new RmsError('invalid_api_key');
    if (verdict === 'expired') throw new RmsError('api_key_expired');
    const missing = permissions.find((permission) => keyMay(created, permission) && !keyMay(key, permission));
    if (missing) {
      const message =
        created.scope === 'restricted'
          ? `A key without the permission \`${missing}\` cannot create or change a key that has it.`
          : `A key with scope \`${key.scope}\` cannot create or change a key with scope \`${created.scope}\`.`;
      throw new RmsError('insufficient_scope', { message });
    }
  }
}

/**
 * Returns whether a caller may read the audit entries that concern both environments: sign-ins, members and users. An
 * API key may if its first creator is an operator, the service itself, or a user with a present role that may read the
 * audit log. A key that was created with another key has the creator of that key.
 */
export async function mayReadUserEntries(
  db: Queryable,
  context: Pick<RpcContext, 'actor' | 'principal'>,
): Promise<boolean> {
  for (const key of grantingKey(context)) {
    const creator = await creatorOfKey(db, key);
    const userId = userOfActor(creator);
    if (userId !== undefined) return may(await roleOf(db, key.workspaceId, userId), 'audit:read');
    return creator === 'system' || creator.startsWith('operator:');
  }
  return true;
}
