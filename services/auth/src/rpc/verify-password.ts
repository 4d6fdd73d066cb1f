import { inTransaction, type Queryable } from '@rms/postgres/db';
import { SignInOutcome, type SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Handlers } from '@rms/rpc';
import { admitPassword } from '../sign-in/attempts.ts';
import { makeChallenge } from '../sign-in/challenge.ts';
import { counted } from '../sign-in/counted.ts';
import { refuse, signIn } from '../sign-in/sign-in.ts';
import { emailKeyOf } from '../user/email.ts';
import { findUserByEmail } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Verifies an email address and password. Does the same work for an unknown address. */
export function verifyPassword(parts: HandlerParts): Handlers<typeof SignInService>['verifyPassword'] {
  const { pool, metrics, passwords, throttle, challengeKeys, log, time } = parts;
  return ({ email, password }, context) =>
    counted(metrics, async () => {
      const emailKey = emailKeyOf(email);
      const { attempts, failure } = await admitPassword(parts, emailKey, context.clientAddress);
      const user = await findUserByEmail(pool, emailKey);
      const isRight = await passwords.verify(user?.passwordHash, password, context.clientAddress);
      if (!user || !isRight || user.disabledAt) {
        log.info({ user_id: user?.id, address: context.clientAddress }, 'sign-in refused');
        const result = await refuse(pool, user, context, { step: 'password' });
        if (failure) throw failure;
        return { result };
      }
      const { id, passwordHash = '' } = user;
      if (passwords.isOutdated(passwordHash)) {
        await replaceHash(pool, id, passwordHash, await passwords.hash(password, context.clientAddress));
      }
      if (user.hasSecondFactor) {
        await throttle.release(pool, attempts);
        const challenge = makeChallenge(challengeKeys, user, { method: 'password', nowMs: time.nowMs() });
        return { result: { outcome: SignInOutcome.SECOND_FACTOR_REQUIRED, challenge, challengeUserId: id } };
      }
      const result = await inTransaction(pool, async (tx) => {
        await throttle.forget(
          tx,
          attempts.filter(({ kind }) => kind === 'account'),
        );
        await throttle.release(
          tx,
          attempts.filter(({ kind }) => kind === 'address'),
        );
        return signIn(tx, user, context, { method: 'password' });
      });
      log.info({ user_id: id }, 'signed in');
      return { result };
    });
}

/** Replaces a hash with a stronger hash of the same password, unless the password has changed since then. */
async function replaceHash(db: Queryable, id: string, before: string, after: string): Promise<void> {
  await db.query('update auth.users set password_hash = $3 where id = $1 and password_hash = $2', [id, before, after]);
}
