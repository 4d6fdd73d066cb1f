import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { Handlers } from '@rms/rpc';
import { actingWith } from '../key/acting-key.ts';
import { requirePermission } from '../member/member.ts';
import { toMemberMessage } from '../member/member-message.ts';
import { findMember } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

export function getMember({ pool }: HandlerParts): Handlers<typeof MembersService>['getMember'] {
  return async ({ workspaceId, userId }, context) => {
    requirePermission(await actingWith(pool, workspaceId, context), 'members:read');
    return { member: toMemberMessage(found(await findMember(pool, workspaceId, userId), 'member', userId)) };
  };
}
