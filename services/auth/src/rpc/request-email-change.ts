import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeEmail } from '../email/email.ts';
import { insertEmailOf } from '../email/email-queries.ts';
import { Change, notifyOfChange } from '../email/security-email.ts';
import type { EmailChange } from '../email-change/email-change-queries.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { changedMeanwhile, found, invalid } from '../refusals.ts';
import { proveSelf } from '../sign-in/prove-self.ts';
import { makeRequestedLink } from '../sign-in/requested-link.ts';
import { checkEmail } from '../user/email.ts';
import { bySelf, userEntries } from '../user/user-audit.ts';
import { findUser, lockUser } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

const lifetimeMs = 24 * 3_600_000;

/**
 * Sends a confirmation link to the new address and notifies the current one. If another user has the new address, the
 * response and the work are the same, so the call does not reveal whether an account exists.
 */
export function requestEmailChange(parts: HandlerParts): Handlers<typeof UsersService>['requestEmailChange'] {
  const { pool, emails, box, log } = parts;
  return async ({ id, email: text, proof }, context) => {
    selfOnly(context, id);
    const user = found(await findUser(pool, id), 'user', id);
    const { email, emailKey } = checkEmail(text);
    if (email === user.email) throw invalid('email', 'is already your address');
    await proveSelf(parts, user, proof, context);
    const { tokenHash, expiresAt, value } = await makeRequestedLink(parts, context, emailKey, lifetimeMs);
    await inTransaction(pool, async (tx) => {
      // If the credentials have changed since the check, the request must not create a link.
      const current = await lockUser(tx, id);
      if (current?.sessionGeneration !== user.sessionGeneration) throw changedMeanwhile();
      const isFree = await insertEmailChange(tx, tokenHash, { userId: id, email, emailKey }, expiresAt);
      await insertEmailOf(
        tx,
        emails,
        isFree ? id : '',
        makeEmail(box, email, { case: 'emailChange', value }, expiresAt),
      );
      await notifyOfChange(tx, parts, current, Change.EMAIL_CHANGE_REQUESTED, context);
      const entries = userEntries(current, await membershipsOf(tx, [id]), {
        action: 'user.email_change_requested',
        details: { to: email },
      });
      await appendAudit(tx, bySelf(context, current), entries);
    });
    log.info({ user_id: id }, 'email change requested');
    return {};
  };
}

/** Stores the confirming token's hash. Returns false if another user has the address. */
async function insertEmailChange(
  tx: Queryable,
  tokenHash: Buffer,
  { userId, email, emailKey }: EmailChange,
  expiresAt: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `insert into auth.email_changes (token_hash, user_id, email, email_key, expires_at)
     select $1, $2, $3, $4, $5 where not exists (select from auth.users where email_key = $4 and id <> $2)`,
    [tokenHash, userId, email, emailKey, expiresAt],
  );
  return rowCount === 1;
}
