import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { Handlers } from '@rms/rpc';
import { actingWith } from '../key/acting-key.ts';
import { requirePermission } from '../member/member.ts';
import { toMemberMessage } from '../member/member-message.ts';
import { countMembers, listMembers as readMembers } from '../member/member-queries.ts';
import { readListPage } from '../paging.ts';
import type { HandlerParts } from './handler.ts';

export function listMembers(parts: HandlerParts): Handlers<typeof MembersService>['listMembers'] {
  const { pool } = parts;
  return async (request, context) => {
    const { workspaceId, pageSize } = request;
    requirePermission(await actingWith(pool, workspaceId, context), 'members:read');
    const { items, ...page } = await readListPage(parts, request, {
      binding: JSON.stringify(['members', workspaceId]),
      read: (start) => readMembers(pool, workspaceId, start),
      keyOf: ({ emailKey }) => emailKey,
    });
    const total = pageSize === 0 ? items.length : await countMembers(pool, workspaceId, null);
    return { members: items.map(toMemberMessage), ...page, totalSize: BigInt(total) };
  };
}
