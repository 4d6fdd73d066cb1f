import { appendAudit, secretReplaced } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { makeRecoveryCodes } from '../second-factor/authenticator.ts';
import { replaceRecoveryCodes } from '../second-factor/second-factor-queries.ts';
import { codesOf, credentialsOf, proveCode } from '../sign-in/prove-code.ts';
import { bySelf, userEntries } from '../user/user-audit.ts';
import { findUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function renewRecoveryCodes(parts: HandlerParts): Handlers<typeof SecondFactorsService>['renewRecoveryCodes'] {
  const { pool, throttle } = parts;
  return async ({ userId, code }, context) => {
    selfOnly(context, userId);
    const user = found(await findUser(pool, userId), 'user', userId);
    await throttle.take(pool, [codesOf(user), credentialsOf(user)]);
    const recovery = makeRecoveryCodes();
    await inTransaction(pool, async (tx) => {
      await proveCode(tx, parts, user, code, context);
      await replaceRecoveryCodes(tx, userId, recovery.hashes);
      const entries = userEntries(user, await membershipsOf(tx, [userId]), {
        action: 'user.recovery_codes_renewed',
        changes: secretReplaced('recovery_codes'),
      });
      await appendAudit(tx, bySelf(context, user), entries);
    });
    return { recoveryCodes: recovery.codes };
  };
}
