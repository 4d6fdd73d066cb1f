import type { Queryable } from '@rms/postgres/db';
import type { User } from '../user/user.ts';
import type { Identity, LinkedIdentity } from './identity.ts';

interface IdentityRow {
  issuer: string;
  subject: string;
  linked_at: Date;
  email: string | null;
  client_address: string | null;
}

const columns = 'issuer, subject, linked_at, email, client_address';

/** Links an identity to a user. Returns false if the identity is already linked. */
export async function insertIdentity(
  tx: Queryable,
  { issuer, subject }: Identity,
  { id, email }: Pick<User, 'id' | 'email'>,
  clientAddress: string,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into auth.identities (issuer, subject, user_id, email, client_address) values ($1, $2, $3, $4, $5)
         on conflict (issuer, subject) do nothing`,
    [issuer, subject, id, email, clientAddress],
  );
  return rowCount === 1;
}

/** Returns a user's identities, oldest first. */
export async function listIdentities(db: Queryable, userId: string): Promise<LinkedIdentity[]> {
  const { rows } = await db.query<IdentityRow>(
    `select ${columns} from auth.identities where user_id = $1 order by linked_at, issuer, subject`,
    [userId],
  );
  return rows.map(({ issuer, subject, linked_at: linkedAt, email, client_address: clientAddress }) => ({
    ...{ issuer, subject, linkedAt },
    ...{ email: email ?? '', clientAddress: clientAddress ?? '' },
  }));
}

/** Unlinks a user's identity at `issuer` and returns it; without `issuer`, all identities of the user. */
export async function deleteIdentities(tx: Queryable, userId: string, issuer?: string): Promise<Identity[]> {
  const { rows } = await tx.query<Identity>(
    'delete from auth.identities where user_id = $1 and issuer = coalesce($2, issuer) returning issuer, subject',
    [userId, issuer],
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
