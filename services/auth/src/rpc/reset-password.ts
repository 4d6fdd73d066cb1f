import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { checkNewPassword } from '../password/password.ts';
import { behindLink, validLink } from '../sign-in/attempts.ts';
import { endWithCredentials } from '../sign-in/end-pending.ts';
import { hashOfToken } from '../token.ts';
import { bySelf, userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { findUser, lockUser, setPassword } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

/** Sets a new password with a reset token. A rejected password does not use up the token. */
export function resetPassword(parts: HandlerParts): Handlers<typeof PasswordsService>['resetPassword'] {
  const { pool, passwords, throttle, log } = parts;
  return async ({ token, password }, context) => {
    const tokenHash = hashOfToken(token);
    const owner = await behindLink(parts, context.clientAddress, async () => {
      const userId = await findReset(pool, tokenHash);
      return userId === undefined ? undefined : findUser(pool, userId);
    });
    checkNewPassword(password, owner);
    const passwordHash = await passwords.hash(password, context.clientAddress);
    const user = await inTransaction(pool, async (tx) => {
      // Locks the user before the token, in the same order as every other change of credentials, to avoid deadlocks.
      const before = validLink(await lockUser(tx, owner.id));
      const id = validLink(await takeReset(tx, tokenHash));
      const user = await setPassword(tx, id, passwordHash);
      await throttle.forget(tx, [{ kind: 'account', of: user.emailKey }]);
      await notifyOfChange(tx, parts, user, Change.PASSWORD_CHANGED, context);
      const entries = userEntries(user, await membershipsOf(tx, [id]), {
        action: 'user.password_changed',
        changes: userChanges(before, user),
        details: { by: 'link' },
      });
      await appendAudit(tx, bySelf(context, user), [...entries, ...(await endWithCredentials(tx, user))]);
      return user;
    });
    log.info({ user_id: user.id }, 'password reset');
    return { user: toUserMessage(user) };
  };
}

/** Returns the user ID of an unexpired token. */
async function findReset(db: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await db.query<{ user_id: string }>(
    'select user_id from auth.password_resets where token_hash = $1 and expires_at > now()',
    [tokenHash],
  );
  return rows[0]?.user_id;
}

/** Deletes the token and returns its user ID. Of two concurrent calls with the same token, one succeeds. */
async function takeReset(tx: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await tx.query<{ user_id: string }>(
    'delete from auth.password_resets where token_hash = $1 and expires_at > now() returning user_id',
    [tokenHash],
  );
  return rows[0]?.user_id;
}
