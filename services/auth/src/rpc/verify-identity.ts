import { inTransaction } from '@rms/db';
import type { FieldViolation } from '@rms/errors';
import { RmsError } from '@rms/errors';
import { SignInOutcome, type SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Handlers } from '@rms/rpc';
import { findUserByIdentity, type Identity } from '../identity/identity-queries.ts';
import { linkIdentity } from '../identity/link-identity.ts';
import { makeChallenge } from '../sign-in/challenge.ts';
import { refuse, signIn } from '../sign-in/sign-in.ts';
import { networkOf } from '../sign-in/throttle.ts';
import { emailKeyOf } from '../user/email.ts';
import { type HandlerParts, translated } from './handler.ts';

const longestIssuer = 2_048;
/** OpenID Connect Core, 2: "sub" has at most 255 characters. */
const longestSubject = 255;

/** Who has turned on a second factor here is asked for it, whatever the provider has asked for. */
export function verifyIdentity(parts: HandlerParts): Handlers<typeof SignInService>['verifyIdentity'] {
  const { pool, throttle, challengeKeys, log } = parts;
  return ({ issuer, subject, email, emailVerified }, context) =>
    translated(async () => {
      const identity = checkIdentity({ issuer, subject });
      const address = { kind: 'address', of: networkOf(context.clientAddress) } as const;
      await throttle.take(pool, [address]);
      const emailKey = emailVerified ? emailKeyOf(email) : '';
      const user =
        (await findUserByIdentity(pool, identity)) ?? (await linkIdentity(parts, identity, emailKey, context));
      if (!user) return { result: await refuse(pool, undefined, context, { step: 'identity' }) };
      await throttle.giveBack(pool, [address]);
      if (user.hasSecondFactor) {
        const challenge = makeChallenge(challengeKeys, user, 'identity');
        return { result: { outcome: SignInOutcome.SECOND_FACTOR_REQUIRED, challenge } };
      }
      const result = await inTransaction(pool, (tx) => signIn(tx, user, context, { method: 'identity' }));
      log.info({ user_id: user.id, issuer }, 'signed in');
      return { result };
    });
}

function checkIdentity(identity: Identity): Identity {
  const { issuer, subject } = identity;
  const details: FieldViolation[] = [];
  if (issuer === '' || issuer.length > longestIssuer) {
    details.push({ field: 'issuer', message: `must have 1 to ${longestIssuer} characters` });
  }
  if (subject === '' || subject.length > longestSubject) {
    details.push({ field: 'subject', message: `must have 1 to ${longestSubject} characters` });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return identity;
}
