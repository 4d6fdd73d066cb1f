import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found, invalid } from '../refusals.ts';
import { makeRecoveryCodes, plainCode, stepOfCode } from '../second-factor/authenticator.ts';
import { sealedFor } from '../second-factor/second-factor.ts';
import { pendingMinutes, replaceRecoveryCodes } from '../second-factor/second-factor-queries.ts';
import { endWithCredentials } from '../sign-in/end-pending.ts';
import { codesOf, credentialsOf } from '../sign-in/prove-code.ts';
import type { User } from '../user/user.ts';
import { bySelf, userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUser, lockUser, toUser, type UserRow, userColumns } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function confirmSecondFactor(parts: HandlerParts): Handlers<typeof SecondFactorsService>['confirmSecondFactor'] {
  const { pool, box, throttle, log, time } = parts;
  return async ({ userId, code }, context) => {
    selfOnly(context, userId);
    const known = found(await findUser(pool, userId), 'user', userId);
    await throttle.take(pool, [codesOf(known), credentialsOf(known)]);
    const recovery = makeRecoveryCodes();
    const user = await inTransaction(pool, async (tx) => {
      const before = found(await lockUser(tx, userId), 'user', userId);
      if (before.hasSecondFactor)
        throw new RmsError('conflict', { message: 'Two-factor authentication is already enabled.' });
      const sealed = await readPending(tx, userId);
      if (!sealed)
        throw new RmsError('conflict', { message: 'No setup is pending, or it has expired. Start the setup again.' });
      const step = stepOfCode(box.open(sealed, sealedFor(userId)), plainCode(code), 0, time.nowMs());
      if (step === undefined) throw invalid('code', 'is wrong');
      const user = await confirmPending(tx, userId, step);
      await replaceRecoveryCodes(tx, userId, recovery.hashes);
      await throttle.forget(tx, [codesOf(user)]);
      await notifyOfChange(tx, parts, user, Change.SECOND_FACTOR_ENABLED, context);
      const entries = userEntries(user, await membershipsOf(tx, [userId]), {
        action: 'user.second_factor_enabled',
        changes: userChanges(before, user),
      });
      await appendAudit(tx, bySelf(context, user), [...entries, ...(await endWithCredentials(tx, user))]);
      return user;
    });
    log.info({ user_id: userId }, 'second factor enabled');
    return { user: toUserMessage(user), recoveryCodes: recovery.codes };
  };
}

/** Enables the pending second factor and ends all sessions. `step` is the time step of the confirming code. */
async function confirmPending(tx: Queryable, userId: string, step: number): Promise<User> {
  const { rows } = await tx.query<UserRow>(
    `update auth.users
        set second_factor_sealed = pending_factor_sealed, second_factor_step = $2,
            pending_factor_sealed = null, pending_factor_at = null, session_generation = session_generation + 1
      where id = $1 returning ${userColumns}`,
    [userId, step],
  );
  return toUser(rows[0] as UserRow);
}

/** Returns the unconfirmed secret, unless it has expired, or its time is that of a clock that was ahead. */
export async function readPending(db: Queryable, userId: string): Promise<Buffer | undefined> {
  const { rows } = await db.query<{ pending_factor_sealed: Buffer }>(
    `select pending_factor_sealed from auth.users
      where id = $1 and pending_factor_at > now() - $2 * interval '1 minute'
        and pending_factor_at < now() + interval '1 minute'`,
    [userId, pendingMinutes],
  );
  return rows[0]?.pending_factor_sealed;
}
