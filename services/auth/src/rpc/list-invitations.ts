import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import { toInvitationMessage } from '../invitation/invitation-message.ts';
import { listInvitations as readInvitations } from '../invitation/invitation-queries.ts';
import { actingIn } from '../member/acting.ts';
import { requirePermission } from '../member/member.ts';
import type { HandlerParts } from './handler.ts';

export function listInvitations({ pool }: HandlerParts): Handlers<typeof InvitationsService>['listInvitations'] {
  return async ({ workspaceId }, { actor }) => {
    requirePermission(await actingIn(pool, workspaceId, actor), 'members.read');
    return { invitations: (await readInvitations(pool, workspaceId)).map(toInvitationMessage) };
  };
}
