import { deleteInBatches, type Queryable } from '@rms/postgres/db';

/**
 * Stores the hash of a password reset token and locks the user until the transaction ends. Returns false if no enabled
 * user has this ID and email address. The statement costs the same for an unknown user, so its duration reveals
 * nothing.
 */
export async function insertReset(
  tx: Queryable,
  tokenHash: Buffer,
  { userId, emailKey }: { readonly userId: string; readonly emailKey: string },
  expiresAt: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `with known as (
       select id from auth.users where id = $2 and email_key = $4 and disabled_at is null for update
     )
     insert into auth.password_resets (token_hash, user_id, expires_at) select $1, id, $3 from known`,
    [tokenHash, userId, expiresAt, emailKey],
  );
  return rowCount === 1;
}

/** Returns the user ID of an unexpired token. */
export async function findReset(db: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await db.query<{ user_id: string }>(
    'select user_id from auth.password_resets where token_hash = $1 and expires_at > now()',
    [tokenHash],
  );
  return rows[0]?.user_id;
}

/** Deletes the token and returns its user ID. Of two concurrent calls with the same token, one succeeds. */
export async function takeReset(tx: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await tx.query<{ user_id: string }>(
    'delete from auth.password_resets where token_hash = $1 and expires_at > now() returning user_id',
    [tokenHash],
  );
  return rows[0]?.user_id;
}

/** Invalidates all reset links of a user. */
export async function deleteResets(tx: Queryable, userId: string): Promise<void> {
  await tx.query('delete from auth.password_resets where user_id = $1', [userId]);
}

/** Deletes expired tokens. */
export function trimResets(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'auth.password_resets', { where: 'expires_at <= auth.agreed_now()' }, signal);
}
