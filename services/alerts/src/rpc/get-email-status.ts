import type { Queryable } from '@rms/postgres/db';
import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { AlertsConfig } from '../config.ts';
import type { WaitingEmails } from '../email/email-queries.ts';
import type { HandlerParts } from './handler.ts';

const maxCounted = 1_000;
/** Servers repeat the recipient in their replies, which can be a user of another workspace. */
const emailAddress = /(?<![^\s<>()"',;:])[^\s<>()"',;:]+@[^\s<>()"',;:]+/g;

/**
 * Returns whether an SMTP server is configured, and how many emails are queued because their last attempt failed.
 * Emails in a folder reach only the operator.
 */
export function getEmailStatus(
  { pool }: Pick<HandlerParts, 'pool'>,
  { smtp }: Pick<AlertsConfig, 'smtp'>,
): Handlers<typeof AlertsService>['getEmailStatus'] {
  return async ({ workspaceId }) => {
    const hasSmtp = smtp !== undefined;
    if (workspaceId === '') return { hasSmtp };
    const { count, lastError } = await readWaiting(pool, workspaceId, maxCounted);
    return { hasSmtp, waiting: count, lastError: lastError.replace(emailAddress, '…') };
  };
}

/** Returns the waiting emails of a workspace, and the waiting account emails, which belong to no workspace. */
async function readWaiting(db: Queryable, workspaceId: string, limit: number): Promise<WaitingEmails> {
  const { rows } = await db.query<WaitingEmails>(
    `select count(*)::int as count, coalesce((array_agg(last_error order by due_at desc))[1], '') as "lastError"
       from (select mail.last_error, mail.due_at
               from unnest(array[$1, '']) as owner (id)
                    cross join lateral (select last_error, due_at from alerts.emails
                                         where workspace_id = owner.id and state = 'queued' and last_error <> ''
                                         order by due_at desc limit $2) as mail
              order by mail.due_at desc limit $2) as waiting`,
    [workspaceId, limit],
  );
  return rows[0] as WaitingEmails;
}
