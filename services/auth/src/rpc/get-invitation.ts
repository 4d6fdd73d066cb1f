import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { toInvitationMessage } from '../invitation/invitation-message.ts';
import { columns, type InvitationRow, toInvitation } from '../invitation/invitation-queries.ts';
import { actingWith } from '../key/acting-key.ts';
import { requirePermission } from '../member/member.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

export function getInvitation({ pool }: HandlerParts): Handlers<typeof InvitationsService>['getInvitation'] {
  return async ({ workspaceId, id }, context) => {
    requirePermission(await actingWith(pool, workspaceId, context), 'members:read');
    const { rows } = await pool.query<InvitationRow>(
      `select ${columns} from auth.invitations where workspace_id = $1 and id = $2`,
      [workspaceId, id],
    );
    return { invitation: toInvitationMessage(toInvitation(found(rows[0], 'invitation', id))) };
  };
}
