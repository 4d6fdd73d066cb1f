import { inTransaction } from '@rms/postgres/db';
import { SignInOutcome, type SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Handlers } from '@rms/rpc';
import { linkIdentity } from '../identity/link-identity.ts';
import { takeCode } from '../second-factor/second-factor.ts';
import { countRecoveryCodes } from '../second-factor/second-factor-queries.ts';
import { readChallenge } from '../sign-in/challenge.ts';
import { counted } from '../sign-in/counted.ts';
import { refuse, signIn } from '../sign-in/sign-in.ts';
import { findUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Verifies a second factor's code. Uses up the code in the transaction that signs the user in. */
export function verifySecondFactor(parts: HandlerParts): Handlers<typeof SignInService>['verifySecondFactor'] {
  const { pool, metrics, throttle, challengeKeys, log, time } = parts;
  return ({ challenge: token, code }, context) =>
    counted(metrics, async () => {
      const challenge = readChallenge(challengeKeys, token, time.nowMs());
      const user = challenge && (await findUser(pool, challenge.userId));
      if (!challenge || user?.sessionGeneration !== challenge.sessionGeneration) {
        return { result: { outcome: SignInOutcome.REFUSED } };
      }
      // Not limited by address: the challenge proves the first step, and others at a shared address must not block it.
      const codes = { kind: 'code', of: user.id } as const;
      await throttle.take(pool, [codes]);
      const outcome = await inTransaction(pool, async (tx) => {
        const proof = await takeCode(tx, parts, user, code, context);
        if (!proof) return undefined;
        const { identity } = challenge;
        if (identity && !(await linkIdentity(tx, parts, identity, user, context))) return undefined;
        await throttle.forget(tx, [codes, { kind: 'account', of: user.emailKey }]);
        const result = await signIn(tx, user, context, { method: challenge.method, second_factor: proof });
        if (proof === 'authenticator') return { result };
        return { result, recoveryCodesRemaining: await countRecoveryCodes(tx, user.id) };
      });
      log.info({ user_id: user.id, address: context.clientAddress }, outcome ? 'signed in' : 'sign-in refused');
      return outcome ?? { result: await refuse(pool, user, context, { step: 'second_factor' }) };
    });
}
