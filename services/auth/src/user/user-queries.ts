import type { Queryable } from '@rms/postgres/db';
import type { User } from './user.ts';

export interface UserRow {
  id: string;
  email: string;
  email_key: string;
  name: string;
  password_hash: string | null;
  session_generation: string;
  created_at: Date;
  last_sign_in_at: Date | null;
  has_second_factor: boolean;
  disabled_at: Date | null;
}

/** The columns that {@link toUser} reads. */
export const userColumns = `id, email, email_key, name, password_hash, session_generation, created_at, last_sign_in_at,
  second_factor_sealed is not null as has_second_factor, disabled_at`;

/** Stores a new user. Returns false if the email address is taken. */
export async function insertUser(tx: Queryable, user: User): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into auth.users (id, email, email_key, name, password_hash, created_at) values ($1, $2, $3, $4, $5, $6)
         on conflict (email_key) do nothing`,
    [user.id, user.email, user.emailKey, user.name, user.passwordHash, user.createdAt],
  );
  return rowCount === 1;
}

export async function findUser(db: Queryable, id: string): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(`select ${userColumns} from auth.users where id = $1`, [id]);
  return rows[0] && toUser(rows[0]);
}

/** Finds a user by the normalized email address; see `emailKeyOf`. */
export async function findUserByEmail(db: Queryable, emailKey: string): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(`select ${userColumns} from auth.users where email_key = $1`, [emailKey]);
  return rows[0] && toUser(rows[0]);
}

/** Returns one user, locked until the transaction ends. */
export async function lockUser(tx: Queryable, id: string): Promise<User | undefined> {
  const { rows } = await tx.query<UserRow>(`select ${userColumns} from auth.users where id = $1 for update`, [id]);
  return rows[0] && toUser(rows[0]);
}

/** Sets the password hash and ends all sessions. */
export async function setPassword(tx: Queryable, id: string, passwordHash: string): Promise<User> {
  return changeUser(tx, 'password_hash = $2, session_generation = session_generation + 1', [id, passwordHash]);
}

/** Ends all sessions of a user: sessions of an earlier generation are rejected. */
export async function endSessions(tx: Queryable, id: string): Promise<User> {
  return changeUser(tx, 'session_generation = session_generation + 1', [id]);
}

export async function setSignedIn(tx: Queryable, id: string): Promise<User> {
  return changeUser(tx, 'last_sign_in_at = now()', [id]);
}

export async function changeUser(tx: Queryable, change: string, values: unknown[]): Promise<User> {
  const { rows } = await tx.query<UserRow>(
    `update auth.users set ${change} where id = $1 returning ${userColumns}`,
    values,
  );
  return toUser(rows[0] as UserRow);
}

/** Converts a row of {@link userColumns}. */
export function toUser(row: UserRow): User {
  return {
    id: row.id,
    email: row.email,
    emailKey: row.email_key,
    name: row.name,
    passwordHash: row.password_hash ?? undefined,
    sessionGeneration: Number(row.session_generation),
    createdAt: row.created_at,
    lastSignInAt: row.last_sign_in_at ?? undefined,
    hasSecondFactor: row.has_second_factor,
    disabledAt: row.disabled_at ?? undefined,
  };
}
