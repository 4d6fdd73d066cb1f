import { RmsError } from '@rms/base/errors';
import { type AuditOrigin, appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { identityLinked } from '../identity/identity-audit.ts';
import type { Invitation } from '../invitation/invitation.ts';
import { invitationEnded } from '../invitation/invitation-audit.ts';
import type { Invitee } from '../invitation/invitee.ts';
import { memberAdded } from '../member/member-audit.ts';
import { checkMemberLimit } from '../member/member-limit.ts';
import { insertMembership } from '../member/member-queries.ts';
import { signIn } from '../sign-in/sign-in.ts';
import { bySelf, userCreated, userEntries } from '../user/user-audit.ts';

/**
 * Makes the invitee a member and signs in, in the transaction that has deleted the invitation. Throws `conflict` if the
 * invitee is a member, or the workspace has reached its limit of members.
 */
export async function joinWorkspace(
  tx: Queryable,
  { maxMembers }: { readonly maxMembers: number },
  { invitation, invitee }: { readonly invitation: Invitation; readonly invitee: Invitee },
  origin: AuditOrigin,
) {
  const { workspaceId, role } = invitation;
  const user = await invitee.join(tx);
  if (!(await insertMembership(tx, { workspaceId, userId: user.id, role }))) {
    throw new RmsError('conflict', { message: 'You are already a member of this workspace.' });
  }
  await checkMemberLimit(tx, workspaceId, maxMembers);
  await appendAudit(tx, bySelf(origin, user), [
    invitationEnded('accepted', invitation),
    ...(invitee.isNew ? [userCreated(workspaceId, user)] : []),
    ...(invitee.identity ? userEntries(user, [{ workspaceId }], identityLinked(invitee.identity)) : []),
    memberAdded(workspaceId, user, role),
  ]);
  return signIn(tx, user, origin, { method: 'invitation' });
}
