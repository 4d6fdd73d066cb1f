import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Handlers } from '@rms/rpc';
import { insertEmailChange } from '../email-change/email-change-queries.ts';
import { makeMail } from '../mail/mail.ts';
import { insertMailOf } from '../mail/mail-queries.ts';
import { selfOnly } from '../member/acting.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { proveSelf } from '../sign-in/prove-self.ts';
import { networkOf } from '../sign-in/throttle.ts';
import { makeToken } from '../token.ts';
import { checkEmail } from '../user/email.ts';
import { bySelf, userChanges } from '../user/user-audit.ts';
import { findUser } from '../user/user-queries.ts';
import { found, type HandlerParts, invalid, translated } from './handler.ts';

const lifetimeMs = 24 * 3_600_000;

/** Answers the same, and does the same, for an address that is somebody else's: nobody learns who has an account. */
export function requestEmailChange(parts: HandlerParts): Handlers<typeof UsersService>['requestEmailChange'] {
  const { pool, box, throttle, log } = parts;
  return ({ id, email: text, proof }, context) =>
    translated(async () => {
      selfOnly(context, id);
      const user = found(await findUser(pool, id), 'user', id);
      const { email, emailKey } = checkEmail(text);
      if (email === user.email) throw invalid('email', 'is your address already');
      await proveSelf(parts, user, proof, context);
      await throttle.take(pool, [
        { kind: 'mailAddress', of: networkOf(context.clientAddress) },
        { kind: 'mail', of: emailKey },
      ]);
      const { token, tokenHash } = makeToken();
      const expiresAt = new Date(Date.now() + lifetimeMs);
      const value = { token, expireTime: timestampFromDate(expiresAt), address: context.clientAddress };
      await inTransaction(pool, async (tx) => {
        const isFree = await insertEmailChange(tx, tokenHash, { userId: id, email, emailKey }, expiresAt);
        await insertMailOf(tx, isFree ? id : '', makeMail(box, email, { case: 'emailChange', value }, expiresAt));
        const changes = userChanges(id, await membershipsOf(tx, [id]), 'user.email_change_requested', { to: email });
        await appendAudit(tx, bySelf(context, id), changes);
      });
      log.info({ user_id: id }, 'another e-mail address requested');
      return {};
    });
}
