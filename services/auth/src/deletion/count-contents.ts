import type { Queryable } from '@rms/postgres/db';
import { countOpenInvitations } from '../invitation/invitation-queries.ts';
import { countValidKeys } from '../key/key-queries.ts';
import { countMembers } from '../member/member-queries.ts';

const maxCounted = 10_000;

/** Returns the numbers of objects that prevent a workspace's deletion as empty, each counted up to 10,000. */
export async function countContents(
  db: Queryable,
  workspaceId: string,
): Promise<Readonly<Record<'keys' | 'members' | 'invitations', number>>> {
  return {
    keys: await countValidKeys(db, workspaceId, maxCounted),
    members: await countMembers(db, workspaceId, maxCounted),
    invitations: await countOpenInvitations(db, workspaceId, maxCounted),
  };
}
