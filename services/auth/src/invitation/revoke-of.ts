import { may, mayChangeRole, type Role, roles } from '@rms/base/roles';
import type { NewAuditEntry } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { invitationEnded } from './invitation-audit.ts';
import { deleteInvitationsIn } from './invitation-queries.ts';

/**
 * Revokes the open invitations that a user created in a workspace and may no longer create. Otherwise a removed or
 * demoted member could return through an invitation. Returns the audit entries.
 * @param role the user's new role; undefined if the user is no longer a member
 */
export async function revokeInvitationsOf(
  tx: Queryable,
  {
    workspaceId,
    userId,
    role,
  }: { readonly workspaceId: string; readonly userId: string; readonly role: Role | undefined },
): Promise<NewAuditEntry[]> {
  const ended = roles.filter((to) => !may(role, 'members:write') || !mayChangeRole(role, undefined, to));
  const invitations = await deleteInvitationsIn(tx, workspaceId, userId, ended);
  return invitations.map((invitation) => invitationEnded('revoked', invitation));
}
