import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import type { Email } from '../user/email.ts';

/** A requested email address. It takes effect when the user opens the link sent to it. */
export interface EmailChange extends Email {
  readonly userId: string;
}

/** Stores the hash of a token that confirms the change. Returns false if another user has the address. */
export async function insertEmailChange(
  tx: Queryable,
  tokenHash: Buffer,
  { userId, email, emailKey }: EmailChange,
  expiresAt: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into auth.email_changes (token_hash, user_id, email, email_key, expires_at)
     select $1, $2, $3, $4, $5 where not exists (select from auth.users where email_key = $4 and id <> $2)`,
    [tokenHash, userId, email, emailKey, expiresAt],
  );
  return rowCount === 1;
}

/** Returns the user ID of an unexpired token. */
export async function findEmailChange(db: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await db.query<{ user_id: string }>(
    'select user_id from auth.email_changes where token_hash = $1 and expires_at > now()',
    [tokenHash],
  );
  return rows[0]?.user_id;
}

/** Deletes the token and returns its email change. Of two concurrent calls with the same token, one succeeds. */
export async function takeEmailChange(tx: Queryable, tokenHash: Buffer): Promise<EmailChange | undefined> {
  const { rows } = await tx.query<{ user_id: string; email: string; email_key: string }>(
    `delete from auth.email_changes where token_hash = $1 and expires_at > now() returning user_id, email, email_key`,
    [tokenHash],
  );
  return rows[0] && { userId: rows[0].user_id, email: rows[0].email, emailKey: rows[0].email_key };
}

/** Invalidates all pending email changes of a user. */
export async function deleteEmailChanges(tx: Queryable, userId: string): Promise<void> {
  await tx.query('delete from auth.email_changes where user_id = $1', [userId]);
}

/** Deletes expired tokens. */
export function trimEmailChanges(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'auth.email_changes', { where: 'expires_at <= auth.agreed_now()' }, signal);
}
