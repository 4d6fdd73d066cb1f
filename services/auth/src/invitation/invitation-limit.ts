import { RmsError } from '@rms/base/errors';
import type { Queryable } from '@rms/postgres/db';
import { found } from '../refusals.ts';
import { lockWorkspaceLimits } from '../workspace/workspace-queries.ts';
import { countOpenInvitations } from './invitation-queries.ts';

/**
 * Locks the workspace until the transaction ends. Throws `conflict` if it has more open invitations than allowed, and
 * `not_found` if it does not exist or is being deleted. Call it after storing the new invitation.
 * @param maxInvitations 0: no limit
 */
export async function checkInvitationLimit(tx: Queryable, workspaceId: string, maxInvitations: number): Promise<void> {
  found(await lockWorkspaceLimits(tx, workspaceId), 'workspace', workspaceId);
  if (maxInvitations === 0) return;
  if ((await countOpenInvitations(tx, workspaceId, maxInvitations + 1)) <= maxInvitations) return;
  throw new RmsError('conflict', {
    message: `The workspace has reached its limit of ${maxInvitations} open invitations. Revoke invitations that are not needed.`,
  });
}
