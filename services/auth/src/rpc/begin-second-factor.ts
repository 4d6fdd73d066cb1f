import { RmsError } from '@rms/errors';
import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { provePassword } from '../password/prove-password.ts';
import { describeSecret, makeSecret } from '../second-factor/authenticator.ts';
import { sealedFor } from '../second-factor/second-factor.ts';
import { setPending } from '../second-factor/second-factor-queries.ts';
import { findUser } from '../user/user-queries.ts';
import { found, type HandlerParts, translated } from './handler.ts';

export function beginSecondFactor(parts: HandlerParts): Handlers<typeof SecondFactorsService>['beginSecondFactor'] {
  const { pool, box } = parts;
  return ({ userId, password }, context) =>
    translated(async () => {
      selfOnly(context, userId);
      const user = found(await findUser(pool, userId), 'user', userId);
      if (user.hasSecondFactor) throw new RmsError('conflict', { message: 'There is a second factor already.' });
      const { clientAddress } = context;
      await provePassword(parts, user, password, { field: 'password', clientAddress });
      const secret = makeSecret();
      await setPending(pool, userId, box.seal(secret, sealedFor(userId)));
      return describeSecret(secret, user.email);
    });
}
