import { RmsError } from '@rms/base/errors';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { checkNewPassword } from '../password/password.ts';
import { found } from '../refusals.ts';
import { endWithCredentials } from '../sign-in/end-pending.ts';
import { credentialsOf } from '../sign-in/prove-code.ts';
import { provePassword } from '../sign-in/prove-password.ts';
import { bySelf, userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUser, lockUser, setPassword } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

export function changePassword(parts: HandlerParts): Handlers<typeof PasswordsService>['changePassword'] {
  const { pool, passwords, throttle, log } = parts;
  return async ({ userId, currentPassword, password }, context) => {
    selfOnly(context, userId);
    const before = found(await findUser(pool, userId), 'user', userId);
    checkNewPassword(password, before);
    const { clientAddress } = context;
    await provePassword(parts, before, currentPassword, { field: 'current_password', clientAddress });
    await throttle.take(pool, [credentialsOf(before)]);
    const passwordHash = await passwords.hash(password, clientAddress);
    const user = await inTransaction(pool, async (tx) => {
      const now = found(await lockUser(tx, userId), 'user', userId);
      if (now.passwordHash !== before.passwordHash) {
        throw new RmsError('conflict', {
          message: 'The password was changed in the meantime. Sign in with the new one.',
        });
      }
      const user = await setPassword(tx, userId, passwordHash);
      await notifyOfChange(tx, parts, user, Change.PASSWORD_CHANGED, context);
      const entries = userEntries(user, await membershipsOf(tx, [userId]), {
        action: 'user.password_changed',
        changes: userChanges(now, user),
        details: { by: 'self' },
      });
      await appendAudit(tx, bySelf(context, user), [...entries, ...(await endWithCredentials(tx, user))]);
      return user;
    });
    log.info({ user_id: userId }, 'password changed');
    return { user: toUserMessage(user) };
  };
}
