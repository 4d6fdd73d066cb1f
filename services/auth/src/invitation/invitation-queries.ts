import type { Queryable } from '@rms/db';
import type { Role } from '@rms/roles';
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

/** The invitation of an address to a workspace that there is, held until the transaction ends. */
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

/** Stores an invitation in place of the one that the address had to that workspace. */
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

/** The invitations of a workspace, newest first. */
export async function listInvitations(db: Queryable, workspaceId: string): Promise<Invitation[]> {
  const { rows } = await db.query<InvitationRow>(
    `select ${columns} from auth.invitations where workspace_id = $1 order by id desc`,
    [workspaceId],
  );
  return rows.map(toInvitation);
}

/** The invitation of a token that has not run out, with the name of its workspace. */
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

/** Uses up the invitation of a token: of two who come at once one gets it. */
export async function takeInvitation(tx: Queryable, tokenHash: Buffer): Promise<Invitation | undefined> {
  const { rows } = await tx.query<InvitationRow>(
    `delete from auth.invitations where token_hash = $1 and expires_at > now() returning ${columns}`,
    [tokenHash],
  );
  return rows[0] && toInvitation(rows[0]);
}

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

/** Forgets invitations that ran out long ago; until then owners see them. */
export async function trimInvitations(db: Queryable): Promise<void> {
  await db.query(`delete from auth.invitations where expires_at < now() - interval '30 days'`);
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
