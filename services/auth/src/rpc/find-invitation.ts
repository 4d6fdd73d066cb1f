import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { toInvitationMessage } from '../invitation/invitation-message.ts';
import { findInvitation as readInvitation } from '../invitation/invitation-queries.ts';
import { behindLink } from '../sign-in/attempts.ts';
import { hashOfToken } from '../token.ts';
import { findUserByEmail } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Returns an invitation by its token. The caller has received the email, so `userExists` reveals only their own
 * account.
 */
export function findInvitation(parts: HandlerParts): Handlers<typeof InvitationsService>['findInvitation'] {
  const { pool } = parts;
  return async ({ token }, { clientAddress }) => {
    const read = () => readInvitation(pool, hashOfToken(token));
    const { invitation, workspaceName } = await behindLink(parts, clientAddress, read);
    const user = await findUserByEmail(pool, invitation.emailKey);
    return { invitation: toInvitationMessage(invitation), workspaceName, userExists: user !== undefined };
  };
}
