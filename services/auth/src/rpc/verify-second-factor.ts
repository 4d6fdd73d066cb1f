import { inTransaction } from '@rms/db';
import { SignInOutcome, type SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Handlers } from '@rms/rpc';
import { takeCode } from '../second-factor/second-factor.ts';
import { countRecoveryCodes } from '../second-factor/second-factor-queries.ts';
import { readChallenge } from '../sign-in/challenge.ts';
import { counted } from '../sign-in/counted.ts';
import { refuse, signIn } from '../sign-in/sign-in.ts';
import { networkOf } from '../sign-in/throttle.ts';
import { findUser } from '../user/user-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

/** A code is used up in the transaction that lets its user in. */
export function verifySecondFactor(parts: HandlerParts): Handlers<typeof SignInService>['verifySecondFactor'] {
  const { pool, metrics, throttle, challengeKeys, log } = parts;
  return ({ challenge: token, code }, context) =>
    translated(() =>
      counted(metrics, async () => {
        const challenge = readChallenge(challengeKeys, token);
        const user = challenge && (await findUser(pool, challenge.userId));
        if (!challenge || user?.sessionGeneration !== challenge.sessionGeneration) {
          return { result: { outcome: SignInOutcome.REFUSED } };
        }
        const address = { kind: 'address', of: networkOf(context.clientAddress) } as const;
        const codes = { kind: 'code', of: user.id } as const;
        await throttle.take(pool, [address, codes]);
        const outcome = await inTransaction(pool, async (tx) => {
          const proof = await takeCode(tx, parts, user, code, context);
          if (!proof) return undefined;
          await throttle.giveBack(tx, [address]);
          await throttle.forget(tx, [codes, { kind: 'account', of: user.emailKey }]);
          const result = await signIn(tx, user, context, { method: challenge.method, second_factor: proof });
          if (proof === 'authenticator') return { result };
          return { result, recoveryCodesLeft: await countRecoveryCodes(tx, user.id) };
        });
        log.info({ user_id: user.id, address: context.clientAddress }, outcome ? 'signed in' : 'sign-in refused');
        return outcome ?? { result: await refuse(pool, user, context, { step: 'second_factor' }) };
      }),
    );
}
