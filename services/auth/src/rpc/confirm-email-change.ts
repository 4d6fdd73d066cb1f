import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import { findEmailChange, takeEmailChange } from '../email-change/email-change-queries.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { behindLink, validLink } from '../sign-in/attempts.ts';
import { endWithCredentials } from '../sign-in/end-pending.ts';
import { hashOfToken } from '../token.ts';
import { bySelf, userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { lockUser, setEmail } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Changes the email address. The token was sent to the new address, so the caller can read email there. Pending
 * password reset links are invalidated because they were sent to the old address.
 */
export function confirmEmailChange(parts: HandlerParts): Handlers<typeof UsersService>['confirmEmailChange'] {
  const { pool, log } = parts;
  return async ({ token }, context) => {
    const confirm = () =>
      inTransaction(pool, async (tx) => {
        const tokenHash = hashOfToken(token);
        // Locks the user before the token, in the same order as every other change of credentials, to avoid deadlocks.
        const before = validLink(await lockUser(tx, validLink(await findEmailChange(tx, tokenHash))));
        const change = validLink(await takeEmailChange(tx, tokenHash));
        const user = validLink(await setEmail(tx, before.id, change));
        await notifyOfChange(tx, parts, before, Change.EMAIL_CHANGED, context);
        const entries = userEntries(user, await membershipsOf(tx, [user.id]), {
          action: 'user.email_changed',
          changes: userChanges(before, user),
        });
        await appendAudit(tx, bySelf(context, user), [...entries, ...(await endWithCredentials(tx, user))]);
        return user;
      });
    const user = await behindLink(parts, context.clientAddress, confirm);
    log.info({ user_id: user.id }, 'email address changed');
    return { user: toUserMessage(user) };
  };
}
