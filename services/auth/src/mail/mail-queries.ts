import type { Queryable } from '@rms/db';
import type { SealedMail } from './mail.ts';

/** Puts a mail on its way, in the transaction of what it tells of. */
export async function insertMail(tx: Queryable, { id, sealed, expiresAt }: SealedMail): Promise<void> {
  await tx.query('insert into auth.mail_requests (id, sealed, expires_at) values ($1, $2, $3)', [
    id,
    sealed,
    expiresAt,
  ]);
}

/** The same if there is such a user; for an id that is nobody's it is work for nothing. */
export async function insertMailOf(
  tx: Queryable,
  userId: string,
  { id, sealed, expiresAt }: SealedMail,
): Promise<void> {
  await tx.query(
    'insert into auth.mail_requests (id, sealed, expires_at) select $1, $2, $3 from auth.users where id = $4',
    [id, sealed, expiresAt, userId],
  );
}

/** The oldest mails that nobody has, held for a while against whoever else asks. */
export async function leaseMails(
  db: Queryable,
  limit: number,
  leaseSeconds: number,
): Promise<{ id: string; sealed: Buffer }[]> {
  const { rows } = await db.query<{ id: string; sealed: Buffer }>(
    `update auth.mail_requests set leased_until = now() + $2 * interval '1 second'
      where id in (
              select id from auth.mail_requests
               where leased_until <= now() and expires_at > now()
               order by id limit $1 for update skip locked
            )
     returning id, sealed`,
    [limit, leaseSeconds],
  );
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
}

/** Forgets mails that are safe elsewhere. */
export async function deleteMails(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('delete from auth.mail_requests where id = any($1)', [ids]);
}

/** Drops mails that are not worth sending any more. */
export async function trimMails(db: Queryable): Promise<number> {
  const { rowCount } = await db.query('delete from auth.mail_requests where expires_at <= now()');
  return rowCount ?? 0;
}
