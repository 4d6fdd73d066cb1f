import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeMail } from '../mail/mail.ts';
import { insertMailOf } from '../mail/mail-queries.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { insertReset } from '../password/reset-queries.ts';
import { networkOf } from '../sign-in/throttle.ts';
import { makeToken } from '../token.ts';
import { emailKeyOf } from '../user/email.ts';
import { byNobody, userChanges } from '../user/user-audit.ts';
import { findUserByEmail } from '../user/user-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

const lifetimeMs = 3_600_000;

/** Answers the same whoever is asked for, and does the same. */
export function requestPasswordReset(parts: HandlerParts): Handlers<typeof PasswordsService>['requestPasswordReset'] {
  const { pool, box, throttle, log } = parts;
  return ({ email }, context) =>
    translated(async () => {
      const emailKey = emailKeyOf(email);
      await throttle.take(pool, [
        { kind: 'mailAddress', of: networkOf(context.clientAddress) },
        { kind: 'mail', of: emailKey },
      ]);
      const { token, tokenHash } = makeToken();
      const expiresAt = new Date(Date.now() + lifetimeMs);
      const value = { token, expireTime: timestampFromDate(expiresAt), address: context.clientAddress };
      await inTransaction(pool, async (tx) => {
        // The same statements for an address that is nobody's.
        const user = await findUserByEmail(tx, emailKey);
        const userId = user && !user.disabledAt ? user.id : '';
        await insertReset(tx, tokenHash, userId, expiresAt);
        const mail = makeMail(box, user?.email ?? email, { case: 'passwordReset', value }, expiresAt);
        await insertMailOf(tx, userId, mail);
        const changes = userChanges(userId, await membershipsOf(tx, [userId]), 'user.password_reset_requested');
        await appendAudit(tx, byNobody(context), changes);
      });
      log.info({ address: context.clientAddress }, 'password reset requested');
      return {};
    });
}
