import { RmsError } from '@rms/errors';
import type { RpcContext } from '@rms/rpc';
import { fromEnvironmentMessage } from '@rms/tenant';
import { type KeyScope, type StoredKey, verdictFor } from './key.ts';
import type { KeyRef } from './key-queries.ts';

const rank: Readonly<Record<KeyScope, number>> = { read: 1, write: 2, admin: 3 };

/** Returns the API key that makes a call; empty for users and operators. */
export function grantingKey({ actor, principal }: Pick<RpcContext, 'actor' | 'principal'>): KeyRef[] {
  if (actor !== '' || !principal) return [];
  const { workspaceId, environment, keyId: id } = principal;
  return [{ workspaceId, environments: [fromEnvironmentMessage(environment)], id }];
}

/**
 * Checks that the API key that makes a call may create a key: it must be valid, belong to the same workspace and
 * environment, and have at least the scope of the new key. Throws `invalid_api_key`, `api_key_expired` or
 * `insufficient_scope`. Does nothing for users and operators.
 * @param locked keys that the transaction has locked, among them the granting key, so that a key that is being revoked
 *   does not create another one afterwards
 */
export function checkGrant(
  context: Pick<RpcContext, 'actor' | 'principal'>,
  locked: readonly StoredKey[],
  created: Pick<StoredKey, 'workspaceId' | 'environment' | 'scope'>,
  now: Date,
): void {
  for (const { id } of grantingKey(context)) {
    const key = locked.find((one) => one.id === id);
    const verdict = key ? verdictFor(key, created.environment, now) : 'invalid';
    if (!key || verdict === 'invalid' || key.workspaceId !== created.workspaceId) throw new RmsError('invalid_api_key');
    if (verdict === 'expired') throw new RmsError('api_key_expired');
    if (rank[key.scope] < rank[created.scope]) {
      const message = `A key with scope \`${key.scope}\` cannot create a key with scope \`${created.scope}\`.`;
      throw new RmsError('insufficient_scope', { message });
    }
  }
}
