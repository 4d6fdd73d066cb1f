import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { deleteEmailChanges, takeEmailChange } from '../email-change/email-change-queries.ts';
import { Change, tellOfChange } from '../mail/security-mail.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { deleteResets } from '../password/reset-queries.ts';
import { behindLink, validLink } from '../sign-in/attempts.ts';
import { hashOfToken } from '../token.ts';
import { bySelf, userChanges } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { lockUser, setEmail } from '../user/user-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

/** The link was mailed to the new address: who has it may read mail there. Links to choose a password went to the old one. */
export function confirmEmailChange(parts: HandlerParts): Handlers<typeof UsersService>['confirmEmailChange'] {
  const { pool, box, log } = parts;
  return ({ token }, context) =>
    translated(async () => {
      const confirm = () =>
        inTransaction(pool, async (tx) => {
          const change = validLink(await takeEmailChange(tx, hashOfToken(token)));
          const before = validLink(await lockUser(tx, change.userId));
          const user = validLink(await setEmail(tx, before.id, change));
          await deleteEmailChanges(tx, user.id);
          await deleteResets(tx, user.id);
          await tellOfChange(tx, box, before, Change.EMAIL_CHANGED, context);
          const details = { from: before.email, to: user.email };
          const changes = userChanges(user.id, await membershipsOf(tx, [user.id]), 'user.email_changed', details);
          await appendAudit(tx, bySelf(context, user.id), changes);
          return user;
        });
      const user = await behindLink(parts, context.clientAddress, confirm);
      log.info({ user_id: user.id }, 'e-mail address changed');
      return { user: toUserMessage(user) };
    });
}
