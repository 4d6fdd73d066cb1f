import { deleteInBatches, type Queryable, type Queue } from '@rms/postgres/db';
import type { SealedEmail } from './email.ts';

/** Announces an email to the alerts service. It is committed within a second. */
function announce(emails: Pick<Queue, 'wake'>): void {
  emails.wake(1_000);
}

/** Queues an email, in the transaction of the change that it reports. */
export async function insertEmail(
  tx: Queryable,
  emails: Pick<Queue, 'wake'>,
  { id, sealed, expiresAt }: SealedEmail,
): Promise<void> {
  await tx.query('insert into auth.email_requests (id, sealed, expires_at) values ($1, $2, $3)', [
    id,
    sealed,
    expiresAt,
  ]);
  announce(emails);
}

/**
 * Queues an email if the user exists. The statement costs the same for an unknown user, so its duration reveals
 * nothing.
 */
export async function insertEmailOf(
  tx: Queryable,
  emails: Pick<Queue, 'wake'>,
  userId: string,
  { id, sealed, expiresAt }: SealedEmail,
): Promise<void> {
  await tx.query(
    'insert into auth.email_requests (id, sealed, expires_at) select $1, $2, $3 from auth.users where id = $4',
    [id, sealed, expiresAt, userId],
  );
  announce(emails);
}

/** Difference between the clocks of two transactions that is not a jump. */
export const toleranceSeconds = 60;

/** Deletes emails that the alerts service has stored. */
export async function deleteEmails(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('delete from auth.email_requests where id = any($1)', [ids]);
}

/** Deletes expired emails. */
export function trimEmails(db: Queryable, signal: AbortSignal): Promise<number> {
  return deleteInBatches(db, 'auth.email_requests', { where: 'expires_at <= auth.agreed_now()' }, signal);
}
