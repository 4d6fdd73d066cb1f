import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { Handlers } from '@rms/rpc';
import { actingIn } from '../member/acting.ts';
import { requirePermission } from '../member/member.ts';
import { toMemberMessage } from '../member/member-message.ts';
import { listMembers as readMembers } from '../member/member-queries.ts';
import type { HandlerParts } from './handler.ts';

export function listMembers({ pool }: HandlerParts): Handlers<typeof MembersService>['listMembers'] {
  return async ({ workspaceId }, { actor }) => {
    requirePermission(await actingIn(pool, workspaceId, actor), 'members:read');
    return { members: (await readMembers(pool, workspaceId)).map(toMemberMessage) };
  };
}
