import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { found } from '../refusals.ts';
import { countRecoveryCodes } from '../second-factor/second-factor-queries.ts';
import { findUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function getSecondFactor({ pool }: HandlerParts): Handlers<typeof SecondFactorsService>['getSecondFactor'] {
  return async ({ userId }, context) => {
    selfOnly(context, userId);
    const { hasSecondFactor } = found(await findUser(pool, userId), 'user', userId);
    return { enabled: hasSecondFactor, recoveryCodesRemaining: await countRecoveryCodes(pool, userId) };
  };
}
