import { checkVersion } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { Handlers } from '@rms/rpc';
import { revokeInvitationsOf } from '../invitation/revoke-of.ts';
import { actingWith } from '../key/acting-key.ts';
import { toKeyMessage } from '../key/key-message.ts';
import { holdRevoked, revokeKeysBy } from '../key/revoke.ts';
import { checkRoleChange, requirePermission } from '../member/member.ts';
import { memberRemoved } from '../member/member-audit.ts';
import { lockMembers, roleAmong } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Removes a member and revokes the member's open invitations. Keys that the member created belong to the workspace and
 * remain, unless `revokeKeys` is set.
 */
export function removeMember(parts: HandlerParts): Handlers<typeof MembersService>['removeMember'] {
  const { pool, log } = parts;
  return async ({ workspaceId, userId, revokeKeys, expectedVersions }, context) => {
    const keys = await inTransaction(pool, async (tx) => {
      const members = await lockMembers(tx, workspaceId);
      const acting = await actingWith(tx, workspaceId, context, roleAmong(members));
      checkRoleChange(members, acting, userId, undefined);
      if (revokeKeys) requirePermission(acting, 'keys:write');
      const { email, role, version } = found(
        members.find((one) => one.userId === userId),
        'member',
        userId,
      );
      checkVersion(version, expectedVersions);
      await deleteMembership(tx, workspaceId, userId);
      const revoked = await revokeInvitationsOf(tx, { workspaceId, userId, role: undefined });
      await appendAudit(tx, context, [memberRemoved(workspaceId, { id: userId, email }, role), ...revoked]);
      return revokeKeys ? revokeKeysBy(tx, { userId, workspaceIds: [workspaceId] }, context) : [];
    });
    log.info({ workspace_id: workspaceId, user_id: userId }, 'member removed');
    await holdRevoked(parts, keys);
    return { revokedKeys: keys.map((key) => toKeyMessage(key)) };
  };
}

async function deleteMembership(tx: Queryable, workspaceId: string, userId: string): Promise<void> {
  await tx.query('delete from auth.memberships where workspace_id = $1 and user_id = $2', [workspaceId, userId]);
}
