import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { countRecoveryCodes } from '../second-factor/second-factor-queries.ts';
import { findUser } from '../user/user-queries.ts';
import { found, type HandlerParts, translated } from './handler.ts';

export function getSecondFactor({ pool }: HandlerParts): Handlers<typeof SecondFactorsService>['getSecondFactor'] {
  return ({ userId }, context) =>
    translated(async () => {
      selfOnly(context, userId);
      const { hasSecondFactor } = found(await findUser(pool, userId), 'user', userId);
      return { enabled: hasSecondFactor, recoveryCodesLeft: await countRecoveryCodes(pool, userId) };
    });
}
