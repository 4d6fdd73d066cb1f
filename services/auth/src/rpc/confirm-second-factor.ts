import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, tellOfChange } from '../mail/security-mail.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { makeRecoveryCodes, plainCode, stepOfCode } from '../second-factor/authenticator.ts';
import { codesOf } from '../second-factor/prove-code.ts';
import { sealedFor } from '../second-factor/second-factor.ts';
import { confirmPending, readPending, replaceRecoveryCodes } from '../second-factor/second-factor-queries.ts';
import { bySelf, userChanges } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUser, lockUser } from '../user/user-queries.ts';
import { found, type HandlerParts, invalid, translated } from './handler.ts';

export function confirmSecondFactor(parts: HandlerParts): Handlers<typeof SecondFactorsService>['confirmSecondFactor'] {
  const { pool, box, throttle, log } = parts;
  return ({ userId, code }, context) =>
    translated(async () => {
      selfOnly(context, userId);
      const known = found(await findUser(pool, userId), 'user', userId);
      await throttle.take(pool, [codesOf(known)]);
      const recovery = makeRecoveryCodes();
      const user = await inTransaction(pool, async (tx) => {
        const before = found(await lockUser(tx, userId), 'user', userId);
        if (before.hasSecondFactor) throw new RmsError('conflict', { message: 'There is a second factor already.' });
        const sealed = await readPending(tx, userId);
        if (!sealed) throw new RmsError('conflict', { message: 'There is nothing to confirm: begin again.' });
        const step = stepOfCode(box.open(sealed, sealedFor(userId)), plainCode(code), 0);
        if (step === undefined) throw invalid('code', 'is wrong');
        const user = await confirmPending(tx, userId, step);
        await replaceRecoveryCodes(tx, userId, recovery.hashes);
        await throttle.forget(tx, [codesOf(user)]);
        await tellOfChange(tx, box, user, Change.SECOND_FACTOR_ENABLED, context);
        const changes = userChanges(userId, await membershipsOf(tx, [userId]), 'user.second_factor_enabled');
        await appendAudit(tx, bySelf(context, userId), changes);
        return user;
      });
      log.info({ user_id: userId }, 'second factor enabled');
      return { user: toUserMessage(user), recoveryCodes: recovery.codes };
    });
}
