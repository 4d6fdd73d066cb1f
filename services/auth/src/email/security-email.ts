import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { SecretBox } from '@rms/base/secrets';
import type { AuditOrigin } from '@rms/postgres/audit';
import type { DatabaseTime, Queryable, Queue } from '@rms/postgres/db';
import { SecurityEmail_Change as Change } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import type { User } from '../user/user.ts';
import { makeEmail, noticeLifetimeMs } from './email.ts';
import { insertEmail } from './email-queries.ts';

export { Change };

export interface NotifyParts {
  readonly box: SecretBox;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  /** The queue of emails. */
  readonly emails: Pick<Queue, 'wake'>;
}

/** Notifies a user about a change to their account, in the change's transaction. */
export async function notifyOfChange(
  tx: Queryable,
  { box, time, emails }: NotifyParts,
  { email }: User,
  change: Change,
  { clientAddress }: AuditOrigin,
): Promise<void> {
  const now = new Date(time.nowMs());
  const value = { change, time: timestampFromDate(now), address: clientAddress };
  const expiresAt = new Date(now.getTime() + noticeLifetimeMs);
  await insertEmail(tx, emails, makeEmail(box, email, { case: 'security', value }, expiresAt));
}
