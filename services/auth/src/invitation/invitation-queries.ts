import type { Role } from '@rms/base/roles';
import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import { actorOfUser } from '@rms/rpc';
import type { Invitation } from './invitation.ts';

export interface InvitationRow {
  workspace_id: string;
  id: string;
  email: string;
  email_key: string;
  role: Role;
  token_hash: Buffer;
  invited_by: string;
  created_at: Date;
  expires_at: Date;
}

export const columns = 'workspace_id, id, email, email_key, role, token_hash, invited_by, created_at, expires_at';

/** Returns the unexpired invitation with this token, and the name of its workspace. */
export async function findInvitation(
  db: Queryable,
  tokenHash: Buffer,
): Promise<{ invitation: Invitation; workspaceName: string } | undefined> {
  const { rows } = await db.query<InvitationRow & { workspace_name: string }>(
    `select invitations.*, workspaces.name as workspace_name
       from auth.invitations join auth.workspaces on workspaces.id = workspace_id
      where token_hash = $1 and expires_at > now()`,
    [tokenHash],
  );
  return rows[0] && { invitation: toInvitation(rows[0]), workspaceName: rows[0].workspace_name };
}

/** Deletes the invitation and returns it. Of two concurrent calls with the same token, one succeeds. */
export async function takeInvitation(tx: Queryable, tokenHash: Buffer): Promise<Invitation | undefined> {
  const { rows } = await tx.query<InvitationRow>(
    `delete from auth.invitations where token_hash = $1 and expires_at > now() returning ${columns}`,
    [tokenHash],
  );
  return rows[0] && toInvitation(rows[0]);
}

/** Deletes an invitation and returns it; undefined if it does not exist. */
export async function deleteInvitation(
  tx: Queryable,
  workspaceId: string,
  id: string,
): Promise<Invitation | undefined> {
  const { rows } = await tx.query<InvitationRow>(
    `delete from auth.invitations where workspace_id = $1 and id = $2 returning ${columns}`,
    [workspaceId, id],
  );
  return rows[0] && toInvitation(rows[0]);
}

/** Deletes all invitations of a workspace. */
export async function deleteInvitationsOf(tx: Queryable, workspaceId: string): Promise<void> {
  await tx.query('delete from auth.invitations where workspace_id = $1', [workspaceId]);
}

/** Deletes the open invitations that a user created, in all workspaces of the user, and returns them. */
export async function deleteInvitationsBy(tx: Queryable, userId: string): Promise<Invitation[]> {
  const { rows } = await tx.query<InvitationRow>(
    `delete from auth.invitations
      where workspace_id in (select workspace_id from auth.memberships where user_id = $1)
        and invited_by = $2 and expires_at > now()
     returning ${columns}`,
    [userId, actorOfUser(userId)],
  );
  return rows.map(toInvitation);
}

/** Deletes the open invitations as one of `roles` that a user created in a workspace, and returns them. */
export async function deleteInvitationsIn(
  tx: Queryable,
  workspaceId: string,
  userId: string,
  roles: readonly Role[],
): Promise<Invitation[]> {
  const { rows } = await tx.query<InvitationRow>(
    `delete from auth.invitations
      where workspace_id = $1 and invited_by = $2 and role = any($3) and expires_at > now()
     returning ${columns}`,
    [workspaceId, actorOfUser(userId), roles],
  );
  return rows.map(toInvitation);
}

/** Deletes invitations 30 days after their expiry. Until then owners see them as expired. */
export function trimInvitations(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(
    db,
    'auth.invitations',
    { where: `expires_at < auth.agreed_now() - interval '30 days'` },
    signal,
  );
}

export function toInvitation(row: InvitationRow): Invitation {
  return {
    workspaceId: row.workspace_id,
    id: row.id,
    email: row.email,
    emailKey: row.email_key,
    role: row.role,
    tokenHash: row.token_hash,
    invitedBy: row.invited_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}

/** Returns the number of unexpired invitations to a workspace, counted up to `most`. */
export async function countOpenInvitations(tx: Queryable, workspaceId: string, most: number): Promise<number> {
  const { rows } = await tx.query<{ count: number }>(
    `select count(*)::integer as count
       from (select from auth.invitations where workspace_id = $1 and expires_at > now() limit $2) as open`,
    [workspaceId, most],
  );
  return rows[0]?.count ?? 0;
}
