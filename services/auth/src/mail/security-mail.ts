import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { AuditOrigin } from '@rms/audit';
import type { Queryable } from '@rms/db';
import { SecurityMail_Change as Change } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import type { SecretBox } from '@rms/secrets';
import type { User } from '../user/user.ts';
import { makeMail, noticeLifetimeMs } from './mail.ts';
import { insertMail } from './mail-queries.ts';

export { Change };

/** Tells somebody of a change of their account, in the transaction of the change. */
export async function tellOfChange(
  tx: Queryable,
  box: SecretBox,
  { email }: User,
  change: Change,
  { clientAddress }: AuditOrigin,
): Promise<void> {
  const now = new Date();
  const value = { change, time: timestampFromDate(now), address: clientAddress };
  const expiresAt = new Date(now.getTime() + noticeLifetimeMs);
  await insertMail(tx, makeMail(box, email, { case: 'security', value }, expiresAt));
}
