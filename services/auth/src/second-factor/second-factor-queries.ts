import type { Queryable } from '@rms/postgres/db';
import type { User } from '../user/user.ts';
import { toUser, type UserRow, userColumns } from '../user/user-queries.ts';

/** Minutes within which a code must confirm a new secret. */
export const pendingMinutes = 15;

/** Deletes the unconfirmed secret. */
export async function deletePending(tx: Queryable, userId: string): Promise<void> {
  await tx.query('update auth.users set pending_factor_sealed = null, pending_factor_at = null where id = $1', [
    userId,
  ]);
}

/** Returns the authenticator's secret, and the time step of the last accepted code. */
export async function readFactor(db: Queryable, userId: string): Promise<{ sealed: Buffer; step: number } | undefined> {
  const { rows } = await db.query<{ second_factor_sealed: Buffer | null; second_factor_step: string }>(
    'select second_factor_sealed, second_factor_step from auth.users where id = $1',
    [userId],
  );
  const sealed = rows[0]?.second_factor_sealed;
  return sealed ? { sealed, step: Number(rows[0]?.second_factor_step) } : undefined;
}

/** Marks a time step as used. Returns false if this step or a later one is already used. */
export async function takeStep(tx: Queryable, userId: string, step: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    'update auth.users set second_factor_step = $2 where id = $1 and second_factor_step < $2',
    [userId, step],
  );
  return rowCount === 1;
}

/** Removes the second factor and its recovery codes, and ends all sessions. */
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

/** Replaces all recovery codes. */
export async function replaceRecoveryCodes(tx: Queryable, userId: string, hashes: readonly Buffer[]): Promise<void> {
  await tx.query('delete from auth.recovery_codes where user_id = $1', [userId]);
  await tx.query('insert into auth.recovery_codes (user_id, code_hash) select $1, unnest($2::bytea[])', [
    userId,
    hashes,
  ]);
}

/** Uses up a recovery code. Returns false if it is wrong or already used. */
export async function takeRecoveryCode(tx: Queryable, userId: string, hash: Buffer): Promise<boolean> {
  const { rowCount } = await tx.query('delete from auth.recovery_codes where user_id = $1 and code_hash = $2', [
    userId,
    hash,
  ]);
  return rowCount === 1;
}

export async function countRecoveryCodes(db: Queryable, userId: string): Promise<number> {
  const { rows } = await db.query<{ remaining: number }>(
    'select count(*)::integer as remaining from auth.recovery_codes where user_id = $1',
    [userId],
  );
  return rows[0]?.remaining ?? 0;
}
