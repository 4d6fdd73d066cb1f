import type { Queryable } from '@rms/db';

/** Stores the hash of a token by which a user may choose another password; for an id that is nobody's it is work for nothing. */
export async function insertReset(tx: Queryable, tokenHash: Buffer, userId: string, expiresAt: Date): Promise<void> {
  await tx.query(
    'insert into auth.password_resets (token_hash, user_id, expires_at) select $1, id, $3 from auth.users where id = $2',
    [tokenHash, userId, expiresAt],
  );
}

/** Whose token it is, if it has not run out. */
export async function findReset(db: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await db.query<{ user_id: string }>(
    'select user_id from auth.password_resets where token_hash = $1 and expires_at > now()',
    [tokenHash],
  );
  return rows[0]?.user_id;
}

/** Uses up a token: of two who bring it at once one gets it. Answers with whose it is. */
export async function takeReset(tx: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await tx.query<{ user_id: string }>(
    'delete from auth.password_resets where token_hash = $1 and expires_at > now() returning user_id',
    [tokenHash],
  );
  return rows[0]?.user_id;
}

/** Makes all links of a user void. */
export async function deleteResets(tx: Queryable, userId: string): Promise<void> {
  await tx.query('delete from auth.password_resets where user_id = $1', [userId]);
}

/** Forgets tokens that have run out. */
export async function trimResets(db: Queryable): Promise<void> {
  await db.query('delete from auth.password_resets where expires_at <= now()');
}
