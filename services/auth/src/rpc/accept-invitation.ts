import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { invitationEnded } from '../invitation/invitation-audit.ts';
import { findInvitation, takeInvitation } from '../invitation/invitation-queries.ts';
import { readInvitee } from '../invitation/invitee.ts';
import { memberAdded } from '../member/member-audit.ts';
import { checkMemberLimit } from '../member/member-limit.ts';
import { insertMembership } from '../member/member-queries.ts';
import { behindLink, validLink } from '../sign-in/attempts.ts';
import { signIn } from '../sign-in/sign-in.ts';
import { hashOfToken } from '../token.ts';
import { bySelf, userCreated } from '../user/user-audit.ts';
import type { HandlerParts } from './handler.ts';

/** Uses up the token in the transaction that creates the membership. Of two concurrent calls, one succeeds. */
export function acceptInvitation(parts: HandlerParts): Handlers<typeof InvitationsService>['acceptInvitation'] {
  const { pool, maxMembers, log } = parts;
  return async ({ token, as }, context) => {
    const tokenHash = hashOfToken(token);
    const { invitation } = await behindLink(parts, context.clientAddress, () => findInvitation(pool, tokenHash));
    const invitee = await readInvitee(parts, invitation, as, context);
    const { workspaceId } = invitation;
    const result = await inTransaction(pool, async (tx) => {
      const taken = validLink(await takeInvitation(tx, tokenHash));
      const user = await invitee.join(tx);
      if (!(await insertMembership(tx, { workspaceId, userId: user.id, role: taken.role }))) {
        throw new RmsError('conflict', { message: 'You are already a member of this workspace.' });
      }
      await checkMemberLimit(tx, workspaceId, maxMembers);
      await appendAudit(tx, bySelf(context, user), [
        invitationEnded('accepted', taken),
        ...(invitee.isNew ? [userCreated(workspaceId, user)] : []),
        memberAdded(workspaceId, user, taken.role),
      ]);
      return signIn(tx, user, context, { method: 'invitation' });
    });
    log.info({ workspace_id: workspaceId, user_id: result.user.id, role: invitation.role }, 'invitation accepted');
    return { result, workspaceId };
  };
}
