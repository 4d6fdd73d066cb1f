import { appendAudit } from '@rms/audit';
import { inTransaction, type Queryable } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { AcceptInvitationRequest, InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Invitation } from '../invitation/invitation.ts';
import { invitationChange } from '../invitation/invitation-audit.ts';
import { findInvitation, takeInvitation } from '../invitation/invitation-queries.ts';
import { selfOnly } from '../member/acting.ts';
import { memberAdded } from '../member/member-audit.ts';
import { insertMembership } from '../member/member-queries.ts';
import { checkNewPassword } from '../password/password.ts';
import { signIn } from '../sign-in/sign-in.ts';
import { hashOfToken } from '../token.ts';
import { makeUser, type User } from '../user/user.ts';
import { bySelf } from '../user/user-audit.ts';
import { findUser, insertUser } from '../user/user-queries.ts';
import { found, type HandlerParts, invalid, translated, validLink } from './handler.ts';

/** The token is used up with the membership: of two who bring it at once one becomes a member. */
export function acceptInvitation(parts: HandlerParts): Handlers<typeof InvitationsService>['acceptInvitation'] {
  const { pool, log } = parts;
  return ({ token, as }, context) =>
    translated(async () => {
      const tokenHash = hashOfToken(token);
      const { invitation } = validLink(await findInvitation(pool, tokenHash));
      if (as.case === 'userId') selfOnly(context, as.value);
      const newcomer = as.case === 'newUser' ? await newUser(parts, invitation, as.value) : undefined;
      const { workspaceId } = invitation;
      const result = await inTransaction(pool, async (tx) => {
        const taken = validLink(await takeInvitation(tx, tokenHash));
        const user = newcomer ? await insertNew(tx, newcomer) : await existing(tx, as);
        const origin = bySelf(context, user.id);
        if (!(await insertMembership(tx, { workspaceId, userId: user.id, role: taken.role }))) {
          throw new RmsError('conflict', { message: 'You are a member of this workspace already.' });
        }
        await appendAudit(tx, origin, [
          invitationChange('accepted', taken),
          memberAdded(workspaceId, user.id, taken.role),
        ]);
        return signIn(tx, user, context, { method: 'invitation' });
      });
      log.info({ workspace_id: workspaceId, user_id: result.user.id, role: invitation.role }, 'invitation accepted');
      return { result, workspaceId };
    });
}

type As = AcceptInvitationRequest['as'];

async function newUser(
  { passwords }: HandlerParts,
  invitation: Invitation,
  { name, password }: Extract<As, { case: 'newUser' }>['value'],
): Promise<User> {
  checkNewPassword(password, invitation);
  return makeUser(invitation, name, await passwords.hash(password));
}

/** An account that is there already is not taken over by a link: its owner signs in. */
async function insertNew(tx: Queryable, user: User): Promise<User> {
  if (await insertUser(tx, user)) return user;
  throw new RmsError('conflict', { message: 'There is an account with this e-mail address: sign in to accept.' });
}

async function existing(tx: Queryable, as: As): Promise<User> {
  if (as.case !== 'userId') throw invalid('as', 'must be a new user or a user id');
  return found(await findUser(tx, as.value), 'user', as.value);
}
