import { RmsError } from '@rms/base/errors';
import type { Queryable } from '@rms/postgres/db';
import { found } from '../refusals.ts';
import { lockWorkspaceLimits } from '../workspace/workspace-queries.ts';
import { countMembers } from './member-queries.ts';

/**
 * Locks the workspace until the transaction ends. Throws `conflict` if it has more members than allowed, and `not_found`
 * if it does not exist or is being deleted. Call it after inserting the new member.
 * @param maxMembers 0: no limit
 */
export async function checkMemberLimit(tx: Queryable, workspaceId: string, maxMembers: number): Promise<void> {
  found(await lockWorkspaceLimits(tx, workspaceId), 'workspace', workspaceId);
  if (maxMembers === 0 || (await countMembers(tx, workspaceId, maxMembers + 1)) <= maxMembers) return;
  throw new RmsError('conflict', {
    message: `The workspace has reached its limit of ${maxMembers} members. Remove members who no longer need access.`,
  });
}
