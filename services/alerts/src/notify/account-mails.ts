import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Pool } from '@rms/db';
import type { MailRequest, MailRequestsService } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import type { RpcClient } from '@rms/rpc';
import type { SecretBox } from '@rms/secrets';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import { mailLifeMs } from '../mail/mail.ts';
import { queueMails } from '../mail/mail-queries.ts';
import { isMailAddress } from '../rule/rule.ts';
import { accountMail } from './account-mail.ts';

export interface AccountMailsParts {
  readonly pool: Pool;
  readonly auth: Pick<RpcClient<typeof MailRequestsService>, 'leaseMailRequests' | 'deleteMailRequests'>;
  readonly box: SecretBox;
  readonly dashboardUrl: string;
  readonly log: Logger;
  readonly onMails: () => void;
}

const everyMs = 1_000;
const longestDelayMs = 30_000;
const atOnce = 50;

/**
 * Fetches what auth has to tell people: invitations, password resets, changes of accounts.
 *
 *   asked for in auth ──leased──► queued here ──► deleted in auth
 *
 * Who dies in between fetches again; a mail that is queued already is not queued again.
 */
export function createAccountMails({ pool, auth, box, dashboardUrl, log, onMails }: AccountMailsParts): Worker {
  const toMail = (request: MailRequest) => {
    const content = isMailAddress(request.to) ? accountMail(request, dashboardUrl) : undefined;
    if (!content) {
      log.error({ mail_request_id: request.id }, 'a mail was asked for that cannot be sent');
      return [];
    }
    const expiresAt = request.expireTime ? timestampDate(request.expireTime) : new Date(Date.now() + mailLifeMs);
    const sealed = box.seal(JSON.stringify(content), request.id);
    return [{ workspaceId: '', environment: '' as const, id: request.id, recipient: request.to, sealed, expiresAt }];
  };

  const fetchSome = async (signal: AbortSignal) => {
    const { mailRequests } = await auth.leaseMailRequests({ limit: atOnce }, { signal });
    if (mailRequests.length === 0) return 0;
    await queueMails(pool, mailRequests.flatMap(toMail));
    onMails();
    await auth.deleteMailRequests({ ids: mailRequests.map(({ id }) => id) });
    return mailRequests.length;
  };

  return {
    name: 'account-mails',
    async run(signal) {
      let delayMs = everyMs;
      while (!signal.aborted) {
        try {
          const fetched = await fetchSome(signal);
          delayMs = everyMs;
          if (fetched === atOnce) continue;
        } catch (err) {
          if (!signal.aborted && delayMs === everyMs) log.warn({ err }, 'mails that auth asks for wait');
          delayMs = Math.min(delayMs * 2, longestDelayMs);
        }
        await abortableDelay(delayMs, signal);
      }
    },
  };
}
