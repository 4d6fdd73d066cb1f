import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, tellOfChange } from '../mail/security-mail.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { checkNewPassword } from '../password/password.ts';
import { deleteResets, findReset, takeReset } from '../password/reset-queries.ts';
import { behindLink, validLink } from '../sign-in/attempts.ts';
import { hashOfToken } from '../token.ts';
import { bySelf, userChanges } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUser, setPassword } from '../user/user-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

/** A password that may not be chosen uses up nothing. */
export function resetPassword(parts: HandlerParts): Handlers<typeof PasswordsService>['resetPassword'] {
  const { pool, box, passwords, throttle, log } = parts;
  return ({ token, password }, context) =>
    translated(async () => {
      const tokenHash = hashOfToken(token);
      const owner = await behindLink(parts, context.clientAddress, async () => {
        const userId = await findReset(pool, tokenHash);
        return userId === undefined ? undefined : findUser(pool, userId);
      });
      checkNewPassword(password, owner);
      const passwordHash = await passwords.hash(password);
      const user = await inTransaction(pool, async (tx) => {
        const id = validLink(await takeReset(tx, tokenHash));
        await deleteResets(tx, id);
        const user = await setPassword(tx, id, passwordHash);
        await throttle.forget(tx, [{ kind: 'account', of: user.emailKey }]);
        await tellOfChange(tx, box, user, Change.PASSWORD_CHANGED, context);
        const changes = userChanges(id, await membershipsOf(tx, [id]), 'user.password_changed', { by: 'link' });
        await appendAudit(tx, bySelf(context, id), changes);
        return user;
      });
      log.info({ user_id: user.id }, 'password reset');
      return { user: toUserMessage(user) };
    });
}
