import { checkVersion } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { invitationEnded } from '../invitation/invitation-audit.ts';
import { deleteInvitation } from '../invitation/invitation-queries.ts';
import { actingWith } from '../key/acting-key.ts';
import { requirePermission, requireRoleChange } from '../member/member.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

export function revokeInvitation({ pool, log }: HandlerParts): Handlers<typeof InvitationsService>['revokeInvitation'] {
  return async ({ workspaceId, id, expectedVersions }, context) => {
    await inTransaction(pool, async (tx) => {
      const acting = await actingWith(tx, workspaceId, context);
      requirePermission(acting, 'members:write');
      const invitation = found(await deleteInvitation(tx, workspaceId, id), 'invitation', id);
      requireRoleChange(acting, invitation.role, undefined);
      // An invitation is never changed: another one replaces it.
      checkVersion(invitation.createdAt.getTime(), expectedVersions);
      await appendAudit(tx, context, [invitationEnded('revoked', invitation)]);
    });
    log.info({ workspace_id: workspaceId, invitation_id: id }, 'invitation revoked');
    return {};
  };
}
