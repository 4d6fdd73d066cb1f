import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { toInvitationMessage } from '../invitation/invitation-message.ts';
import { findInvitation as readInvitation } from '../invitation/invitation-queries.ts';
import { behindLink } from '../sign-in/attempts.ts';
import { hashOfToken } from '../token.ts';
import { findUserByEmail } from '../user/user-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

/** Who has the token has had the mail: the address is theirs, and whether it has an account is no news to them. */
export function findInvitation(parts: HandlerParts): Handlers<typeof InvitationsService>['findInvitation'] {
  const { pool } = parts;
  return ({ token }, { clientAddress }) =>
    translated(async () => {
      const read = () => readInvitation(pool, hashOfToken(token));
      const { invitation, workspaceName } = await behindLink(parts, clientAddress, read);
      const user = await findUserByEmail(pool, invitation.emailKey);
      return { invitation: toInvitationMessage(invitation), workspaceName, userExists: user !== undefined };
    });
}
