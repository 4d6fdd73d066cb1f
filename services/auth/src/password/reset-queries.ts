import { deleteInBatches, type Queryable } from '@rms/postgres/db';

/** Invalidates all reset links of a user. */
export async function deleteResets(tx: Queryable, userId: string): Promise<void> {
  await tx.query('delete from auth.password_resets where user_id = $1', [userId]);
}

/** Deletes expired tokens. */
export function trimResets(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'auth.password_resets', { where: 'expires_at <= auth.agreed_now()' }, signal);
}
