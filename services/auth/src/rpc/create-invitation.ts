import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { actorOf, appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeInvitation } from '../invitation/invitation.ts';
import { invitationChange } from '../invitation/invitation-audit.ts';
import { toInvitationMessage } from '../invitation/invitation-message.ts';
import { lockInvitationOf, upsertInvitation } from '../invitation/invitation-queries.ts';
import { makeMail } from '../mail/mail.ts';
import { insertMail } from '../mail/mail-queries.ts';
import { actingIn } from '../member/acting.ts';
import { requirePermission, requireRoleChange } from '../member/member.ts';
import { fromRoleMessage, toRoleMessage } from '../member/member-message.ts';
import { roleOf } from '../member/member-queries.ts';
import { makeToken } from '../token.ts';
import { checkEmail } from '../user/email.ts';
import { userOfActor } from '../user/user-audit.ts';
import { findUser, findUserByEmail } from '../user/user-queries.ts';
import { findWorkspace } from '../workspace/workspace-queries.ts';
import { found, type HandlerParts, translated } from './handler.ts';

/** Whether the address has an account elsewhere shows nowhere in the answer. */
export function createInvitation(parts: HandlerParts): Handlers<typeof InvitationsService>['createInvitation'] {
  const { pool, box, throttle, log } = parts;
  return ({ workspaceId, email, role: roleMessage }, context) =>
    translated(async () => {
      const acting = await actingIn(pool, workspaceId, context.actor);
      requirePermission(acting, 'members.write');
      const address = checkEmail(email);
      const role = fromRoleMessage(roleMessage);
      requireRoleChange(acting, undefined, role);
      const workspace = found(await findWorkspace(pool, workspaceId), 'workspace', workspaceId);
      await throttle.take(pool, [
        { kind: 'mail', of: `${workspaceId} ${address.emailKey}` },
        { kind: 'invitations', of: workspaceId },
      ]);
      const { token, tokenHash } = makeToken();
      const made = makeInvitation({ ...address, workspaceId, role, tokenHash, invitedBy: actorOf(context) });
      await inTransaction(pool, async (tx) => {
        const user = await findUserByEmail(tx, address.emailKey);
        // Asked for an address without an account as well: the same is done for both.
        if ((await roleOf(tx, workspaceId, user?.id ?? '')) && user) {
          throw new RmsError('conflict', { message: `${user.email} is a member already.` });
        }
        const before = await lockInvitationOf(tx, workspaceId, address.emailKey);
        // An admin does not take back an owner's invitation of an owner.
        if (before) requireRoleChange(acting, before.role, role);
        await upsertInvitation(tx, made);
        const inviter = await findUser(tx, userOfActor(context.actor) ?? '');
        const value = {
          token,
          workspaceId,
          workspaceName: workspace.name,
          role: toRoleMessage(role),
          invitedBy: inviter?.email ?? '',
          expireTime: timestampFromDate(made.expiresAt),
        };
        await insertMail(tx, makeMail(box, made.email, { case: 'invitation', value }, made.expiresAt));
        await appendAudit(tx, context, [invitationChange('created', made)]);
      });
      log.info({ workspace_id: workspaceId, invitation_id: made.id, role }, 'invitation created');
      return { invitation: toInvitationMessage(made) };
    });
}
