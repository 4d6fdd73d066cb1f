import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { deleteSecondFactor } from '../second-factor/second-factor-queries.ts';
import { endWithCredentials } from '../sign-in/end-pending.ts';
import { codesOf, proveCode } from '../sign-in/prove-code.ts';
import { bySelf, userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUser, lockUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function removeSecondFactor(parts: HandlerParts): Handlers<typeof SecondFactorsService>['removeSecondFactor'] {
  const { pool, throttle, log } = parts;
  return async ({ userId, code }, context) => {
    selfOnly(context, userId);
    const known = found(await findUser(pool, userId), 'user', userId);
    await throttle.take(pool, [codesOf(known)]);
    const user = await inTransaction(pool, async (tx) => {
      await proveCode(tx, parts, known, code, context);
      const before = found(await lockUser(tx, userId), 'user', userId);
      const user = await deleteSecondFactor(tx, userId);
      await notifyOfChange(tx, parts, user, Change.SECOND_FACTOR_REMOVED, context);
      const entries = userEntries(user, await membershipsOf(tx, [userId]), {
        action: 'user.second_factor_removed',
        changes: userChanges(before, user),
      });
      await appendAudit(tx, bySelf(context, user), [...entries, ...(await endWithCredentials(tx, user))]);
      return user;
    });
    log.info({ user_id: userId }, 'second factor removed');
    return { user: toUserMessage(user) };
  };
}
