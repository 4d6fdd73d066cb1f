import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import type { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeEmail } from '../email/email.ts';
import { insertEmailOf } from '../email/email-queries.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { makeRequestedLink } from '../sign-in/requested-link.ts';
import { emailKeyOf } from '../user/email.ts';
import { userEntries, withoutActor } from '../user/user-audit.ts';
import { findUserByEmail } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';

const lifetimeMs = 3_600_000;

/** Sends a password reset link. The response and the work are the same for unknown addresses. */
export function requestPasswordReset(parts: HandlerParts): Handlers<typeof PasswordsService>['requestPasswordReset'] {
  const { pool, emails, box, log } = parts;
  return async ({ email }, context) => {
    const emailKey = emailKeyOf(email);
    const { tokenHash, expiresAt, value } = await makeRequestedLink(parts, context, emailKey, lifetimeMs);
    await inTransaction(pool, async (tx) => {
      // Unknown addresses run the same statements.
      const user = await findUserByEmail(tx, emailKey);
      const stored = await insertReset(tx, tokenHash, { userId: user?.id ?? '', emailKey }, expiresAt);
      const userId = user && stored ? user.id : '';
      const resetEmail = makeEmail(box, user?.email ?? email, { case: 'passwordReset', value }, expiresAt);
      await insertEmailOf(tx, emails, userId, resetEmail);
      const memberships = await membershipsOf(tx, [userId]);
      const requested = { action: 'user.password_reset_requested' } as const;
      // A request for an unknown address concerns no user: an entry for every one would let anyone fill the audit log.
      const entries = user && stored ? userEntries(user, memberships, requested) : [];
      await appendAudit(tx, withoutActor(context), entries, { always: true });
    });
    log.info({ address: context.clientAddress }, 'password reset requested');
    return {};
  };
}

/**
 * Stores a password reset token's hash and locks the user until the transaction ends. Returns false if no enabled
 * user has this ID and email address. The statement costs the same for an unknown user, so its duration reveals
 * nothing.
 */
async function insertReset(
  tx: Queryable,
  tokenHash: Buffer,
  { userId, emailKey }: { readonly userId: string; readonly emailKey: string },
  expiresAt: Date,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `with known as (
       select id from auth.users where id = $2 and email_key = $4 and disabled_at is null for update
     )
     insert into auth.password_resets (token_hash, user_id, expires_at) select $1, id, $3 from known`,
    [tokenHash, userId, expiresAt, emailKey],
  );
  return rowCount === 1;
}
