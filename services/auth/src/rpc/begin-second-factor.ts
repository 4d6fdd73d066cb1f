import { RmsError } from '@rms/base/errors';
import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { changedMeanwhile, found } from '../refusals.ts';
import { describeSecret, makeSecret } from '../second-factor/authenticator.ts';
import { sealedFor } from '../second-factor/second-factor.ts';
import { setPending } from '../second-factor/second-factor-queries.ts';
import { provePassword } from '../sign-in/prove-password.ts';
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
