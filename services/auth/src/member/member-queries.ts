import type { Role } from '@rms/base/roles';
import type { Queryable } from '@rms/postgres/db';
import type { PageRead } from '../paging.ts';
import { type Member, type MemberRole, type Membership, requireOtherOwner } from './member.ts';

/** Adds a member. Returns false if the user is already a member. */
export async function insertMembership(
  tx: Queryable,
  { workspaceId, userId, role }: Pick<Membership, 'workspaceId' | 'userId' | 'role'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into auth.memberships (workspace_id, user_id, role) values ($1, $2, $3)
         on conflict (workspace_id, user_id) do nothing`,
    [workspaceId, userId, role],
  );
  return rowCount === 1;
}

interface MembershipRow {
  workspace_id: string;
  workspace_name: string;
  user_id: string;
  role: Role;
  created_at: Date;
}

/** Returns the memberships of these users, sorted by workspace name. */
export async function membershipsOf(db: Queryable, userIds: readonly string[]): Promise<Membership[]> {
  const { rows } = await db.query<MembershipRow>(
    `select workspace_id, workspaces.name as workspace_name, user_id, role, memberships.created_at
       from auth.memberships join auth.workspaces on workspaces.id = workspace_id
      where user_id = any($1)
      order by workspaces.name, workspace_id, user_id`,
    [userIds],
  );
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    workspaceName: row.workspace_name,
    userId: row.user_id,
    role: row.role,
    createdAt: row.created_at,
  }));
}

/** Returns a user's role in a workspace. */
export async function roleOf(db: Queryable, workspaceId: string, userId: string): Promise<Role | undefined> {
  const { rows } = await db.query<{ role: Role }>(
    'select role from auth.memberships where workspace_id = $1 and user_id = $2',
    [workspaceId, userId],
  );
  return rows[0]?.role;
}

interface MemberRow {
  user_id: string;
  email: string;
  email_key: string;
  name: string;
  role: Role;
  created_at: Date;
  last_sign_in_at: Date | null;
  has_second_factor: boolean;
  disabled: boolean;
  version: string;
}

const version =
  '(extract(epoch from coalesce(memberships.updated_at, memberships.created_at)) * 1000)::bigint as version';
const memberColumns = `user_id, email, email_key, name, role, memberships.created_at, last_sign_in_at,
            second_factor_sealed is not null as has_second_factor, disabled_at is not null as disabled, ${version}`;

/** Returns members of a workspace, sorted by email address. The workspace's limit of members bounds what it reads. */
export async function listMembers(
  db: Queryable,
  workspaceId: string,
  { start, limit }: PageRead = { start: undefined, limit: null },
): Promise<Member[]> {
  const backwards = start?.direction === 'before';
  const { rows } = await db.query<MemberRow>(
    `select ${memberColumns}
       from auth.memberships join auth.users on users.id = user_id
      where workspace_id = $1 and ($2::text is null or email_key ${backwards ? '<' : '>'} $2)
      order by email_key ${backwards ? 'desc' : 'asc'} limit $3`,
    [workspaceId, start?.keys[0], limit],
  );
  return rows.map(toMember);
}

/** Returns one member. */
export async function findMember(db: Queryable, workspaceId: string, userId: string): Promise<Member | undefined> {
  const { rows } = await db.query<MemberRow>(
    `select ${memberColumns}
       from auth.memberships join auth.users on users.id = user_id
      where workspace_id = $1 and user_id = $2`,
    [workspaceId, userId],
  );
  return rows[0] && toMember(rows[0]);
}

function toMember(row: MemberRow): Member {
  return {
    userId: row.user_id,
    email: row.email,
    emailKey: row.email_key,
    name: row.name,
    role: row.role,
    createdAt: row.created_at,
    lastSignInAt: row.last_sign_in_at ?? undefined,
    hasSecondFactor: row.has_second_factor,
    disabled: row.disabled,
    version: Number(row.version),
  };
}

/** Returns the number of members of a workspace, counted up to `most` (null: exactly). */
export async function countMembers(tx: Queryable, workspaceId: string, most: number | null): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count
       from (select from auth.memberships where workspace_id = $1 limit $2) as few`,
    [workspaceId, most],
  );
  return rows[0]?.count ?? 0;
}

/** Locks all members of a workspace until the transaction ends, in a fixed order, and returns them. */
export async function lockMembers(
  tx: Queryable,
  workspaceId: string,
): Promise<(MemberRole & Pick<Member, 'email' | 'version'>)[]> {
  await tx.query('select from auth.memberships where workspace_id = $1 order by user_id for update', [workspaceId]);
  // Read after the lock is held, so that users disabled until then count as disabled.
  const { rows } = await tx.query<{ user_id: string; email: string; role: Role; disabled: boolean; version: string }>(
    `select user_id, email, role, disabled_at is not null as disabled, ${version}
       from auth.memberships join auth.users on users.id = user_id
      where workspace_id = $1
      order by user_id`,
    [workspaceId],
  );
  return rows.map(({ user_id: userId, ...member }) => ({ userId, ...member, version: Number(member.version) }));
}

/** Returns a function that returns the role of any of these members, for `actingWith`. */
export function roleAmong(members: readonly MemberRole[]): (userId: string) => Promise<Role | undefined> {
  return (id) => Promise.resolve(members.find(({ userId }) => userId === id)?.role);
}

/**
 * Locks all members of every workspace that the user owns, in a fixed order. Throws `conflict` if a workspace has no
 * other owner.
 */
export async function lockOwned(tx: Queryable, userId: string): Promise<void> {
  const owned = (await membershipsOf(tx, [userId])).filter(({ role }) => role === 'owner');
  for (const workspaceId of owned.map((one) => one.workspaceId).sort()) {
    requireOtherOwner(await lockMembers(tx, workspaceId), userId);
  }
}

/** Deletes all members of a workspace. */
export async function deleteMembersOf(tx: Queryable, workspaceId: string): Promise<void> {
  await tx.query('select from auth.memberships where workspace_id = $1 order by user_id for update', [workspaceId]);
  await tx.query('delete from auth.memberships where workspace_id = $1', [workspaceId]);
}
