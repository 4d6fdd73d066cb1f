import { inTransaction } from '@rms/db';
import { SignInOutcome, type SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkIdentity } from '../identity/identity.ts';
import { findUserByIdentity } from '../identity/identity-queries.ts';
import { linkIdentity } from '../identity/link-identity.ts';
import { makeChallenge } from '../sign-in/challenge.ts';
import { counted } from '../sign-in/counted.ts';
import { refuse, signIn } from '../sign-in/sign-in.ts';
import { networkOf } from '../sign-in/throttle.ts';
import { emailKeyOf } from '../user/email.ts';
import { type HandlerParts, translated } from './handler.ts';

/** Who has turned on a second factor here is asked for it, whatever the provider has asked for. */
export function verifyIdentity(parts: HandlerParts): Handlers<typeof SignInService>['verifyIdentity'] {
  const { pool, metrics, throttle, challengeKeys, log } = parts;
  return ({ issuer, subject, email, emailVerified }, context) =>
    translated(() =>
      counted(metrics, async () => {
        const identity = checkIdentity({ issuer, subject });
        const address = { kind: 'address', of: networkOf(context.clientAddress) } as const;
        await throttle.take(pool, [address]);
        const emailKey = emailVerified ? emailKeyOf(email) : '';
        const user =
          (await findUserByIdentity(pool, identity)) ?? (await linkIdentity(parts, identity, emailKey, context));
        if (!user || user.disabledAt) return { result: await refuse(pool, user, context, { step: 'identity' }) };
        await throttle.giveBack(pool, [address]);
        if (user.hasSecondFactor) {
          const challenge = makeChallenge(challengeKeys, user, 'identity');
          return { result: { outcome: SignInOutcome.SECOND_FACTOR_REQUIRED, challenge } };
        }
        const result = await inTransaction(pool, (tx) => signIn(tx, user, context, { method: 'identity' }));
        log.info({ user_id: user.id, issuer }, 'signed in');
        return { result };
      }),
    );
}
