import type { Role } from '@rms/base/roles';
import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import { actorOfUser } from '@rms/rpc';
import type { Invitation } from './invitation.ts';

interface InvitationRow {
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

const columns = 'workspace_id, id, email, email_key, role, token_hash, invited_by, created_at, expires_at';

/** Returns the invitation of an address to a workspace, locked until the transaction ends. */
export async function lockInvitationOf(
  tx: Queryable,
  workspaceId: string,
  emailKey: string,
): Promise<Invitation | undefined> {
  const { rows } = await tx.query<InvitationRow>(
    `select ${columns} from auth.invitations where workspace_id = $1 and email_key = $2 for update`,
    [workspaceId, emailKey],
  );
  return rows[0] && toInvitation(rows[0]);
}

/** Stores an invitation. Replaces an existing invitation of the same address to the same workspace. */
export async function upsertInvitation(tx: Queryable, invitation: Invitation): Promise<void> {
  await tx.query(
    `insert into auth.invitations (${columns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict on constraint invitations_email do update
        set id = excluded.id, email = excluded.email, role = excluded.role, token_hash = excluded.token_hash,
            invited_by = excluded.invited_by, created_at = excluded.created_at, expires_at = excluded.expires_at`,
    [
      invitation.workspaceId,
      invitation.id,
      invitation.email,
      invitation.emailKey,
      invitation.role,
      invitation.tokenHash,
      invitation.invitedBy,
      invitation.createdAt,
      invitation.expiresAt,
    ],
  );
}

/** Returns the invitations of a workspace, newest first. */
export async function listInvitations(db: Queryable, workspaceId: string): Promise<Invitation[]> {
  const { rows } = await db.query<InvitationRow>(
    `select ${columns} from auth.invitations where workspace_id = $1 order by id desc`,
    [workspaceId],
  );
  return rows.map(toInvitation);
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

/** Returns up to two open invitations to an address: any, or only the one with this ID unless it is empty. */
export async function findInvitationsTo(db: Queryable, emailKey: string, id: string): Promise<Invitation[]> {
  const { rows } = await db.query<InvitationRow>(
    `select ${columns} from auth.invitations
      where email_key = $1 and expires_at > now() and ($2 = '' or id = $2) limit 2`,
    [emailKey, id],
  );
  return rows.map(toInvitation);
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

function toInvitation(row: InvitationRow): Invitation {
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
