import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { readGuest } from '../invitation/guest.ts';
import { invitationChange } from '../invitation/invitation-audit.ts';
import { findInvitation, takeInvitation } from '../invitation/invitation-queries.ts';
import { memberAdded } from '../member/member-audit.ts';
import { insertMembership } from '../member/member-queries.ts';
import { behindLink, validLink } from '../sign-in/attempts.ts';
import { signIn } from '../sign-in/sign-in.ts';
import { hashOfToken } from '../token.ts';
import { bySelf } from '../user/user-audit.ts';
import { type HandlerParts, translated } from './handler.ts';

/** The token is used up with the membership: of two who bring it at once one becomes a member. */
export function acceptInvitation(parts: HandlerParts): Handlers<typeof InvitationsService>['acceptInvitation'] {
  const { pool, log } = parts;
  return ({ token, as }, context) =>
    translated(async () => {
      const tokenHash = hashOfToken(token);
      const { invitation } = await behindLink(parts, context.clientAddress, () => findInvitation(pool, tokenHash));
      const guest = await readGuest(parts, invitation, as, context);
      const { workspaceId } = invitation;
      const result = await inTransaction(pool, async (tx) => {
        const taken = validLink(await takeInvitation(tx, tokenHash));
        const user = await guest.comeIn(tx);
        if (!(await insertMembership(tx, { workspaceId, userId: user.id, role: taken.role }))) {
          throw new RmsError('conflict', { message: 'You are a member of this workspace already.' });
        }
        await appendAudit(tx, bySelf(context, user.id), [
          invitationChange('accepted', taken),
          memberAdded(workspaceId, user.id, taken.role),
        ]);
        return signIn(tx, user, context, { method: 'invitation' });
      });
      log.info({ workspace_id: workspaceId, user_id: result.user.id, role: invitation.role }, 'invitation accepted');
      return { result, workspaceId };
    });
}
