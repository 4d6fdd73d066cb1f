import { deleteInBatches, type Queryable } from '@rms/postgres/db';
import type { Email } from '../user/email.ts';

/** A requested email address. It takes effect when the user opens the link sent to it. */
export interface EmailChange extends Email {
  readonly userId: string;
}

/** Invalidates all pending email changes of a user. */
export async function deleteEmailChanges(tx: Queryable, userId: string): Promise<void> {
  await tx.query('delete from auth.email_changes where user_id = $1', [userId]);
}

/** Deletes expired tokens. */
export function trimEmailChanges(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'auth.email_changes', { where: 'expires_at <= auth.agreed_now()' }, signal);
}
