import { inTransaction } from '@rms/postgres/db';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { findInvitation, takeInvitation } from '../invitation/invitation-queries.ts';
import { readInvitee } from '../invitation/invitee.ts';
import { behindLink, validLink } from '../sign-in/attempts.ts';
import { hashOfToken } from '../token.ts';
import type { HandlerParts } from './handler.ts';
import { joinWorkspace } from './join-workspace.ts';

/** Uses up the token in the transaction that creates the membership. Of two concurrent calls, one succeeds. */
export function acceptInvitation(parts: HandlerParts): Handlers<typeof InvitationsService>['acceptInvitation'] {
  const { pool, log } = parts;
  return async ({ token, as }, context) => {
    const tokenHash = hashOfToken(token);
    const { invitation } = await behindLink(parts, context.clientAddress, () => findInvitation(pool, tokenHash));
    const invitee = await readInvitee(parts, invitation, as, context);
    const { workspaceId, role } = invitation;
    const result = await inTransaction(pool, async (tx) => {
      const taken = validLink(await takeInvitation(tx, tokenHash));
      return joinWorkspace(tx, parts, { invitation: taken, invitee }, context);
    });
    log.info({ workspace_id: workspaceId, user_id: result.user.id, role }, 'invitation accepted');
    return { result, workspaceId };
  };
}
