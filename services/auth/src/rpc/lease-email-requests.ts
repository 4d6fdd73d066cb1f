import { fromBinary } from '@bufbuild/protobuf';
import { SecretBoxError } from '@rms/base/secrets';
import type { Queryable } from '@rms/postgres/db';
import { EmailRequestSchema, type EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { emailContext } from '../email/email.ts';
import { toleranceSeconds } from '../email/email-queries.ts';
import { invalid } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

const most = 100;
const leaseSeconds = 60;
/** Well below the caller's timeout. */
const waitMs = 3_000;

/** Leases queued emails, and waits if there are none. An email that cannot be decrypted or decoded is logged and stays queued until it expires. */
export function leaseEmailRequests({
  pool,
  emails,
  box,
  log,
}: HandlerParts): Handlers<typeof EmailRequestsService>['leaseEmailRequests'] {
  return async ({ limit }, { signal, stopping }) => {
    if (limit < 1 || limit > most) throw invalid('limit', `must be 1 to ${most}`);
    const hasRows = await emails.untilRows(waitMs, stopping);
    // An aborted call must not lease emails.
    if (!hasRows || signal.aborted) return { emailRequests: [] };
    const leased = await leaseEmails(pool, limit, leaseSeconds);
    const emailRequests = leased.flatMap(({ id, sealed }) => {
      try {
        return [fromBinary(EmailRequestSchema, box.open(sealed, emailContext(id)))];
      } catch (err) {
        const reason =
          err instanceof SecretBoxError ? 'decrypt a queued email: no configured key matches' : 'decode a queued email';
        log.error({ err, email_request_id: id }, `could not ${reason}`);
        return [];
      }
    });
    return { emailRequests };
  };
}

/**
 * Leases the oldest queued emails for `leaseSeconds`, so that concurrent callers get different ones. A longer lease is of
 * a clock that was ahead, and is over.
 */
export async function leaseEmails(
  db: Queryable,
  limit: number,
  leaseSeconds: number,
): Promise<{ id: string; sealed: Buffer }[]> {
  const { rows } = await db.query<{ id: string; sealed: Buffer }>(
    `update auth.email_requests set leased_until = now() + $2 * interval '1 second'
      where id = any(array(
              select id from auth.email_requests
               where (leased_until <= now() or leased_until > now() + ($2 + ${toleranceSeconds}) * interval '1 second')
                 and expires_at > now()
               order by id limit $1 for update skip locked
            ))
     returning id, sealed`,
    [limit, leaseSeconds],
  );
  return rows.sort((a, b) => (a.id < b.id ? -1 : 1));
}
