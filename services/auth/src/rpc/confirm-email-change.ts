import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { Change, notifyOfChange } from '../email/security-email.ts';
import type { EmailChange } from '../email-change/email-change-queries.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { behindLink, validLink } from '../sign-in/attempts.ts';
import { endWithCredentials } from '../sign-in/end-pending.ts';
import { hashOfToken } from '../token.ts';
import type { Email } from '../user/email.ts';
import type { User } from '../user/user.ts';
import { bySelf, userChanges, userEntries } from '../user/user-audit.ts';
import { toUserMessage } from '../user/user-message.ts';
import { lockUser, toUser, type UserRow, userColumns } from '../user/user-queries.ts';
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

/** Returns the user ID of an unexpired token. */
async function findEmailChange(db: Queryable, tokenHash: Buffer): Promise<string | undefined> {
  const { rows } = await db.query<{ user_id: string }>(
    'select user_id from auth.email_changes where token_hash = $1 and expires_at > now()',
    [tokenHash],
  );
  return rows[0]?.user_id;
}

/** Deletes the token and returns its email change. Of two concurrent calls with the same token, one succeeds. */
async function takeEmailChange(tx: Queryable, tokenHash: Buffer): Promise<EmailChange | undefined> {
  const { rows } = await tx.query<{ user_id: string; email: string; email_key: string }>(
    `delete from auth.email_changes where token_hash = $1 and expires_at > now() returning user_id, email, email_key`,
    [tokenHash],
  );
  return rows[0] && { userId: rows[0].user_id, email: rows[0].email, emailKey: rows[0].email_key };
}

/** Changes the email address and ends all sessions. Returns undefined if another user has the address. */
async function setEmail(tx: Queryable, id: string, { email, emailKey }: Email): Promise<User | undefined> {
  const { rows } = await tx.query<UserRow>(
    `update auth.users set email = $2, email_key = $3, session_generation = session_generation + 1
      where id = $1 and not exists (select from auth.users as others where others.email_key = $3 and others.id <> $1)
     returning ${userColumns}`,
    [id, email, emailKey],
  );
  return rows[0] && toUser(rows[0]);
}
