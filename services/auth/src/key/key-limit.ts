import { RmsError } from '@rms/base/errors';
import type { Queryable } from '@rms/postgres/db';
import { type RpcContext, userOfActor } from '@rms/rpc';
import { found } from '../refusals.ts';
import type { Throttle } from '../sign-in/throttle.ts';
import { lockWorkspaceLimits } from '../workspace/workspace-queries.ts';
import { grantingKey } from './granting-key.ts';
import { countValidKeys } from './key-queries.ts';

/**
 * Locks the workspace until the transaction ends. Throws `conflict` if the workspace already has as many valid keys as
 * its plan allows, and `not_found` if it does not exist or is being deleted.
 * @param maxKeys limit of workspaces with a plan without one; 0: no limit
 */
export async function checkKeyLimit(tx: Queryable, workspaceId: string, maxKeys: number): Promise<void> {
  const limits = found(await lockWorkspaceLimits(tx, workspaceId), 'workspace', workspaceId);
  const most = limits.maxKeys ?? maxKeys;
  if (most === 0 || (await countValidKeys(tx, workspaceId, most)) < most) return;
  throw new RmsError('conflict', {
    message: `The workspace has reached its limit of ${most} valid keys. Revoke keys that are not needed.`,
  });
}

/**
 * Counts a key that a user or an API key creates. Throws `rate_limit_exceeded`. A workspace could otherwise store any
 * number of ended keys. Operators have no limit.
 */
export async function countNewKey(
  tx: Queryable,
  throttle: Pick<Throttle, 'take'>,
  workspaceId: string,
  context: Pick<RpcContext, 'actor' | 'principal'>,
): Promise<void> {
  const isOperator = userOfActor(context.actor) === undefined && grantingKey(context).length === 0;
  if (!isOperator) await throttle.take(tx, [{ kind: 'keys', of: workspaceId }]);
}
