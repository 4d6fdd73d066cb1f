import type { Queryable } from '@rms/postgres/db';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Invitation } from '../invitation/invitation.ts';
import { toInvitationMessage } from '../invitation/invitation-message.ts';
import { columns, type InvitationRow, toInvitation } from '../invitation/invitation-queries.ts';
import { actingIn } from '../member/acting.ts';
import { requirePermission } from '../member/member.ts';
import type { HandlerParts } from './handler.ts';

export function listInvitations({ pool }: HandlerParts): Handlers<typeof InvitationsService>['listInvitations'] {
  return async ({ workspaceId }, { actor }) => {
    requirePermission(await actingIn(pool, workspaceId, actor), 'members:read');
    return { invitations: (await readInvitations(pool, workspaceId)).map(toInvitationMessage) };
  };
}

/** Returns a workspace's invitations, newest first. */
async function readInvitations(db: Queryable, workspaceId: string): Promise<Invitation[]> {
  const { rows } = await db.query<InvitationRow>(
    `select ${columns} from auth.invitations where workspace_id = $1 order by id desc`,
    [workspaceId],
  );
  return rows.map(toInvitation);
}
