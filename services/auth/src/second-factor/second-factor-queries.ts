import type { Queryable } from '@rms/db';
import type { User } from '../user/user.ts';
import { toUser, type UserRow, userColumns } from '../user/user-queries.ts';

/** How long a secret may wait for the code that confirms it. */
const pendingMinutes = 15;

/** Keeps a secret that no code has confirmed yet. */
export async function setPending(tx: Queryable, userId: string, sealed: Buffer): Promise<void> {
  await tx.query('update auth.users set pending_factor_sealed = $2, pending_factor_at = now() where id = $1', [
    userId,
    sealed,
  ]);
}

/** The secret that waits to be confirmed, if it has not run out. */
export async function readPending(db: Queryable, userId: string): Promise<Buffer | undefined> {
  const { rows } = await db.query<{ pending_factor_sealed: Buffer }>(
    `select pending_factor_sealed from auth.users
      where id = $1 and pending_factor_at > now() - $2 * interval '1 minute'`,
    [userId, pendingMinutes],
  );
  return rows[0]?.pending_factor_sealed;
}

/** Turns on the second factor that was pending; ends all sessions. `step` is that of the code that has confirmed it. */
export async function confirmPending(tx: Queryable, userId: string, step: number): Promise<User> {
  const { rows } = await tx.query<UserRow>(
    `update auth.users
        set second_factor_sealed = pending_factor_sealed, second_factor_step = $2,
            pending_factor_sealed = null, pending_factor_at = null, session_generation = session_generation + 1
      where id = $1 returning ${userColumns}`,
    [userId, step],
  );
  return toUser(rows[0] as UserRow);
}

/** The secret of the authenticator, and the step of the last code that was taken. */
export async function readFactor(db: Queryable, userId: string): Promise<{ sealed: Buffer; step: number } | undefined> {
  const { rows } = await db.query<{ second_factor_sealed: Buffer | null; second_factor_step: string }>(
    'select second_factor_sealed, second_factor_step from auth.users where id = $1',
    [userId],
  );
  const sealed = rows[0]?.second_factor_sealed;
  return sealed ? { sealed, step: Number(rows[0]?.second_factor_step) } : undefined;
}

/** Takes the code of a step: false if that step, or a later one, has been taken already. */
export async function takeStep(tx: Queryable, userId: string, step: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update auth.users set second_factor_step = $2 where id = $1 and second_factor_step < $2',
    [userId, step],
  );
  return rowCount === 1;
}

/** Turns the second factor off, with its recovery codes; ends all sessions. */
export async function deleteSecondFactor(tx: Queryable, userId: string): Promise<User> {
  await tx.query('delete from auth.recovery_codes where user_id = $1', [userId]);
  const { rows } = await tx.query<UserRow>(
    `update auth.users
        set second_factor_sealed = null, pending_factor_sealed = null, pending_factor_at = null,
            session_generation = session_generation + 1
      where id = $1 returning ${userColumns}`,
    [userId],
  );
  return toUser(rows[0] as UserRow);
}

/** Puts recovery codes in the place of those before. */
export async function replaceRecoveryCodes(tx: Queryable, userId: string, hashes: readonly Buffer[]): Promise<void> {
  await tx.query('delete from auth.recovery_codes where user_id = $1', [userId]);
  await tx.query('insert into auth.recovery_codes (user_id, code_hash) select $1, unnest($2::bytea[])', [
    userId,
    hashes,
  ]);
}

/** Uses up a recovery code; false if it is none, or no more. */
export async function takeRecoveryCode(tx: Queryable, userId: string, hash: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query('delete from auth.recovery_codes where user_id = $1 and code_hash = $2', [
    userId,
    hash,
  ]);
  return rowCount === 1;
}

export async function countRecoveryCodes(db: Queryable, userId: string): Promise<number> {
  const { rows } = await db.query<{ left: number }>(
    'select count(*)::integer as left from auth.recovery_codes where user_id = $1',
    [userId],
  );
  return rows[0]?.left ?? 0;
}
