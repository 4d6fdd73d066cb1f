import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { Handlers } from '@rms/rpc';
import { actingAmong } from '../member/acting.ts';
import { checkRoleChange } from '../member/member.ts';
import { memberRemoved } from '../member/member-audit.ts';
import { deleteMembership, lockMembers } from '../member/member-queries.ts';
import { found, type HandlerParts, translated } from './handler.ts';

/** The keys that somebody has made are the workspace's, and stay. */
export function removeMember({ pool, log }: HandlerParts): Handlers<typeof MembersService>['removeMember'] {
  return ({ workspaceId, userId }, context) =>
    translated(async () => {
      await inTransaction(pool, async (tx) => {
        const members = await lockMembers(tx, workspaceId);
        checkRoleChange(members, actingAmong(members, context.actor), userId, undefined);
        const from = found(members.find((one) => one.userId === userId)?.role, 'member', userId);
        await deleteMembership(tx, workspaceId, userId);
        await appendAudit(tx, context, [memberRemoved(workspaceId, userId, from)]);
      });
      log.info({ workspace_id: workspaceId, user_id: userId }, 'member removed');
      return {};
    });
}
