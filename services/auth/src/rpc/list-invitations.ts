import type { Queryable } from '@rms/postgres/db';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Invitation } from '../invitation/invitation.ts';
import { toInvitationMessage } from '../invitation/invitation-message.ts';
import { columns, type InvitationRow, toInvitation } from '../invitation/invitation-queries.ts';
import { actingWith } from '../key/acting-key.ts';
import { requirePermission } from '../member/member.ts';
import { type PageRead, readListPage } from '../paging.ts';
import type { HandlerParts } from './handler.ts';

export function listInvitations(parts: HandlerParts): Handlers<typeof InvitationsService>['listInvitations'] {
  const { pool } = parts;
  return async (request, context) => {
    const { workspaceId, pageSize } = request;
    requirePermission(await actingWith(pool, workspaceId, context), 'members:read');
    const { items, ...page } = await readListPage(parts, request, {
      binding: JSON.stringify(['invitations', workspaceId]),
      read: (start) => readInvitations(pool, workspaceId, start),
      keyOf: ({ id }) => id,
    });
    const total = pageSize === 0 ? items.length : await countInvitations(pool, workspaceId);
    return { invitations: items.map(toInvitationMessage), ...page, totalSize: BigInt(total) };
  };
}

/** Returns invitations of a workspace, newest first. The limit of open ones and housekeeping bound their number. */
async function readInvitations(db: Queryable, workspaceId: string, { start, limit }: PageRead): Promise<Invitation[]> {
  const backwards = start?.direction === 'before';
  const { rows } = await db.query<InvitationRow>(
    `select ${columns} from auth.invitations
      where workspace_id = $1 and ($2::text is null or id ${backwards ? '>' : '<'} $2)
      order by id ${backwards ? 'asc' : 'desc'} limit $3`,
    [workspaceId, start?.keys[0], limit],
  );
  return rows.map(toInvitation);
}

async function countInvitations(db: Queryable, workspaceId: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::integer as count from auth.invitations where workspace_id = $1',
    [workspaceId],
  );
  return rows[0]?.count ?? 0;
}
