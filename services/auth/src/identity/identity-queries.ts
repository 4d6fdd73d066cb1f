import type { Queryable } from '@rms/db';
import type { User } from '../user/user.ts';
import { toUser, type UserRow, userColumns } from '../user/user-queries.ts';
import type { Identity } from './identity.ts';

/** Returns the user who signs in with this identity. */
export async function findUserByIdentity(db: Queryable, { issuer, subject }: Identity): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(
    `select ${userColumns} from auth.users
      where id = (select user_id from auth.identities where issuer = $1 and subject = $2)`,
    [issuer, subject],
  );
  return rows[0] && toUser(rows[0]);
}

/** Links an identity to a user. Returns false if the identity is already linked. */
export async function insertIdentity(tx: Queryable, { issuer, subject }: Identity, userId: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into auth.identities (issuer, subject, user_id) values ($1, $2, $3)
         on conflict (issuer, subject) do nothing`,
    [issuer, subject, userId],
  );
  return rowCount === 1;
}

/** Returns the identities of a user, oldest first. */
export async function listIdentities(db: Queryable, userId: string): Promise<Identity[]> {
  const { rows } = await db.query<Identity>(
    'select issuer, subject from auth.identities where user_id = $1 order by linked_at, issuer, subject',
    [userId],
  );
  return rows;
}

/** Returns whether a user has an identity at that provider. */
export async function hasIdentityAt(db: Queryable, userId: string, issuer: string): Promise<boolean> {
  const { rowCount } = await db.query('select from auth.identities where user_id = $1 and issuer = $2 limit 1', [
    userId,
    issuer,
  ]);
  return rowCount === 1;
}
