import type { Queryable } from '@rms/db';
import { RmsError } from '@rms/errors';
import { found } from '../refusals.ts';
import { lockWorkspaceLimits } from '../workspace/workspace-queries.ts';
import { countValidKeys } from './key-queries.ts';

/**
 * Locks the workspace until the transaction ends. Throws `conflict` if the workspace already has as many valid keys as
 * its plan allows, and `not_found` if it does not exist or is being deleted.
 * @param maxKeys limit of workspaces whose plan sets none; 0: no limit
 */
export async function checkKeyLimit(tx: Queryable, workspaceId: string, maxKeys: number): Promise<void> {
  const limits = found(await lockWorkspaceLimits(tx, workspaceId), 'workspace', workspaceId);
  const most = limits.maxKeys ?? maxKeys;
  if (most === 0 || (await countValidKeys(tx, workspaceId, most)) < most) return;
  throw new RmsError('conflict', {
    message: `The workspace has reached its limit of ${most} valid keys. Revoke keys that are not needed.`,
  });
}
