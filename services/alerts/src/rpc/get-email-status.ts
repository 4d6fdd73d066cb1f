import type { AlertsService } from '@rms/proto/rms/alerts/v1/alerts_service_pb';
import type { Handlers } from '@rms/rpc';
import type { AlertsConfig } from '../config.ts';
import { readWaiting } from '../email/email-queries.ts';
import type { HandlerParts } from './handler.ts';

const maxCounted = 1_000;
/** Servers repeat the recipient in their replies, which can be a user of another workspace. */
const emailAddress = /(?<![^\s<>()"',;:])[^\s<>()"',;:]+@[^\s<>()"',;:]+/g;

/**
 * Returns whether an SMTP server is configured, and how many emails wait because their last attempt failed. Emails in a
 * folder reach only the operator.
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
