import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { Handlers } from '@rms/rpc';
import { revokeInvitationsOf } from '../invitation/revoke-of.ts';
import { actingAmong } from '../member/acting.ts';
import { checkRoleChange } from '../member/member.ts';
import { memberRemoved } from '../member/member-audit.ts';
import { deleteMembership, lockMembers } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Removes a member and revokes the member's open invitations. Keys that the member created belong to the workspace and
 * remain.
 */
export function removeMember({ pool, log }: HandlerParts): Handlers<typeof MembersService>['removeMember'] {
  return async ({ workspaceId, userId }, context) => {
    await inTransaction(pool, async (tx) => {
      const members = await lockMembers(tx, workspaceId);
      checkRoleChange(members, actingAmong(members, context.actor), userId, undefined);
      const { email, role } = found(
        members.find((one) => one.userId === userId),
        'member',
        userId,
      );
      await deleteMembership(tx, workspaceId, userId);
      const revoked = await revokeInvitationsOf(tx, { workspaceId, userId, role: undefined });
      await appendAudit(tx, context, [memberRemoved(workspaceId, { id: userId, email }, role), ...revoked]);
    });
    log.info({ workspace_id: workspaceId, user_id: userId }, 'member removed');
    return {};
  };
}
