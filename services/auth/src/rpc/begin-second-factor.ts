import { RmsError } from '@rms/base/errors';
import type { Queryable } from '@rms/postgres/db';
import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { changedMeanwhile, found } from '../refusals.ts';
import { describeSecret, makeSecret } from '../second-factor/authenticator.ts';
import { sealedFor } from '../second-factor/second-factor.ts';
import { provePassword } from '../sign-in/prove-password.ts';
import type { User } from '../user/user.ts';
import { findUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function beginSecondFactor(parts: HandlerParts): Handlers<typeof SecondFactorsService>['beginSecondFactor'] {
  const { pool, box } = parts;
  return async ({ userId, password }, context) => {
    selfOnly(context, userId);
    const user = found(await findUser(pool, userId), 'user', userId);
    if (user.hasSecondFactor)
      throw new RmsError('conflict', { message: 'Two-factor authentication is already enabled.' });
    const { clientAddress } = context;
    await provePassword(parts, user, password, { field: 'password', clientAddress });
    const secret = makeSecret();
    if (!(await setPending(pool, user, box.seal(secret, sealedFor(userId))))) throw changedMeanwhile();
    return describeSecret(secret, user.email);
  };
}

/** Stores an unconfirmed secret. Returns false if the user's sessions ended since `user` was read. */
export async function setPending(
  db: Queryable,
  { id, sessionGeneration }: Pick<User, 'id' | 'sessionGeneration'>,
  sealed: Buffer,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update auth.users set pending_factor_sealed = $2, pending_factor_at = now()
      where id = $1 and session_generation = $3`,
    [id, sealed, sessionGeneration],
  );
  return rowCount === 1;
}
