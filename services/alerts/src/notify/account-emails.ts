import { timestampDate } from '@bufbuild/protobuf/wkt';
import { abortableDelay } from '@rms/async';
import type { SecretBox } from '@rms/base/secrets';
import type { DatabaseTime, Pool } from '@rms/postgres/db';
import type { EmailRequest, EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import type { RpcClient } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { emailLifeMs } from '../email/email.ts';
import { queueEmails } from '../email/email-queries.ts';
import { isEmailAddress } from '../rule/rule.ts';
import { emailContext } from '../sealed/contexts.ts';
import { accountEmail } from './account-email.ts';

export interface AccountEmailsParts {
  readonly pool: Pool;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly auth: Pick<RpcClient<typeof EmailRequestsService>, 'leaseEmailRequests' | 'deleteEmailRequests'>;
  readonly box: SecretBox;
  readonly dashboardUrl: string;
  readonly log: Logger;
  readonly onEmails: () => void;
}

const everyMs = 1_000;
const maxDelayMs = 30_000;
const batchSize = 50;

/**
 * Creates the worker that moves account emails from auth's queue to this service's queue: invitations, password resets,
 * and notices of account changes.
 *
 *   queued in auth ──leased──► queued here ──► deleted in auth
 *
 * If the process dies in between, the emails are leased again. Emails that are already queued here are ignored. An
 * email that cannot be queued does not block the others.
 */
export function createAccountEmails(parts: AccountEmailsParts): Worker {
  const { pool, time, auth, box, dashboardUrl, log, onEmails } = parts;
  const toEmail = (request: EmailRequest) => {
    const content = isEmailAddress(request.to) ? accountEmail(request, dashboardUrl) : undefined;
    if (!content) {
      log.error({ email_request_id: request.id }, 'dropped an email request with an invalid address or content');
      return [];
    }
    const expiresAt = request.expireTime ? timestampDate(request.expireTime) : new Date(time.nowMs() + emailLifeMs);
    const ref = { workspaceId: '', environment: '' as const, id: request.id };
    const sealed = box.seal(JSON.stringify(content), emailContext(ref));
    return [{ ...ref, recipient: request.to, sealed, expiresAt }];
  };

  const fetchSome = async (signal: AbortSignal) => {
    const { emailRequests } = await auth.leaseEmailRequests({ limit: batchSize }, { signal });
    if (emailRequests.length === 0) return 0;
    const ids: string[] = [];
    const failed: unknown[] = [];
    for (const request of emailRequests) {
      try {
        await queueEmails(pool, toEmail(request));
        ids.push(request.id);
      } catch (err) {
        failed.push(err);
        log.warn({ err, email_request_id: request.id }, 'could not queue an email; retrying when its lease expires');
      }
    }
    if (ids.length === 0) throw failed[0];
    onEmails();
    await auth.deleteEmailRequests({ ids });
    return emailRequests.length;
  };

  return {
    name: 'account-emails',
    async run(signal) {
      let delayMs = everyMs;
      while (!signal.aborted) {
        try {
          const fetched = await fetchSome(signal);
          delayMs = everyMs;
          if (fetched === batchSize) continue;
        } catch (err) {
          if (!signal.aborted && delayMs === everyMs)
            log.warn({ err }, 'could not fetch queued emails from auth; retrying');
          delayMs = Math.min(delayMs * 2, maxDelayMs);
        }
        await abortableDelay(delayMs, signal);
      }
    },
  };
}
