import { checkVersion } from '@rms/base/errors';
import type { Role } from '@rms/base/roles';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { Handlers } from '@rms/rpc';
import { revokeInvitationsOf } from '../invitation/revoke-of.ts';
import { actingWith } from '../key/acting-key.ts';
import { checkRoleChange } from '../member/member.ts';
import { memberUpdated } from '../member/member-audit.ts';
import { fromRoleMessage, toMemberMessage } from '../member/member-message.ts';
import { listMembers, lockMembers, roleAmong } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

/** Changes a member's role. The lock on all members serializes owners who demote each other, so one owner remains. */
export function updateMember({ pool, log }: HandlerParts): Handlers<typeof MembersService>['updateMember'] {
  return async ({ workspaceId, userId, role: roleMessage, expectedVersions }, context) => {
    const role = fromRoleMessage(roleMessage);
    const member = await inTransaction(pool, async (tx) => {
      const members = await lockMembers(tx, workspaceId);
      checkRoleChange(members, await actingWith(tx, workspaceId, context, roleAmong(members)), userId, role);
      const {
        email,
        role: from,
        version,
      } = found(
        members.find((one) => one.userId === userId),
        'member',
        userId,
      );
      checkVersion(version, expectedVersions);
      if (from !== role) {
        await setRole(tx, workspaceId, userId, role);
        const revoked = await revokeInvitationsOf(tx, { workspaceId, userId, role });
        await appendAudit(tx, context, [memberUpdated(workspaceId, { id: userId, email }, from, role), ...revoked]);
      }
      return (await listMembers(tx, workspaceId)).find((one) => one.userId === userId);
    });
    log.info({ workspace_id: workspaceId, user_id: userId, role }, 'member updated');
    return { member: toMemberMessage(found(member, 'member', userId)) };
  };
}

async function setRole(tx: Queryable, workspaceId: string, userId: string, role: Role): Promise<void> {
  await tx.query(
    `update auth.memberships
        set role = $3, updated_at = greatest(now(), coalesce(updated_at, created_at) + interval '1 millisecond')
      where workspace_id = $1 and user_id = $2`,
    [workspaceId, userId, role],
  );
}
