import type { Pool } from '@rms/db';
import type { SecretBox } from '@rms/secrets';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import type { AlertsMetrics } from '../metrics.ts';
import { compose, type Sender } from './compose.ts';
import { type MailContent, mailLifeMs, retryDelayMs } from './mail.ts';
import { endMail, type LeasedMail, leaseMails, retryMail } from './mail-queries.ts';

/** One mail on its way out. */
export interface Outgoing {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** As it goes over the wire. */
  readonly raw: Buffer;
}

/** Hands a mail over. "refused": it will never be taken. Never rejects. */
export type Deliver = (
  mail: Outgoing,
) => Promise<{ readonly outcome: 'sent' } | { readonly outcome: 'refused' | 'try_again'; readonly error: string }>;

export interface MailSenderParts {
  readonly pool: Pool;
  readonly box: SecretBox;
  readonly deliver: Deliver;
  readonly sender: Sender;
  readonly metrics: Pick<AlertsMetrics, 'mails'>;
  readonly log: Logger;
}

export interface MailSender extends Worker {
  /** There are new mails. */
  wake(): void;
}

const pollMs = 2_000;
const atOnce = 5;
/** Longer than a mail may take. */
const leaseMs = 90_000;
const longestError = 300;

/**
 * Sends queued mails, each at least once.
 *
 *   queued ──leased──► being sent ──taken──────────────► sent
 *     ▲                  │  │  └──refused for good, or too old──► failed
 *     └──after a while───┘  └── who sends it dies: the lease runs out ──► queued
 */
export function createMailSender({ pool, box, deliver, sender, metrics, log }: MailSenderParts): MailSender {
  let wake = new AbortController();

  const send = async (mail: LeasedMail) => {
    const fields = { mail_id: mail.id, workspace_id: mail.workspaceId, attempts: mail.attempts };
    const giveUp = async (error: string) => {
      await endMail(pool, mail, 'failed', error);
      metrics.mails.inc({ outcome: 'given_up' });
      log.error({ ...fields, reason: error }, 'a mail was not sent');
    };
    if (mail.expiresAt.getTime() <= Date.now()) return giveUp('it was not sent in time');
    let content: MailContent;
    try {
      content = JSON.parse(box.open(mail.sealed, mail.id).toString('utf8'));
    } catch (error) {
      return giveUp((error as Error).message);
    }
    const raw = await compose({ ...mail, content }, sender);
    const result = await deliver({ id: mail.id, from: sender.address, to: mail.recipient, raw });
    metrics.mails.inc({ outcome: result.outcome });
    if (result.outcome === 'sent') {
      await endMail(pool, mail, 'sent', '');
      log.info(fields, 'mail sent');
      return;
    }
    const error = result.error.slice(0, longestError);
    if (result.outcome === 'refused' || Date.now() - mail.createdAt.getTime() > mailLifeMs) return giveUp(error);
    await retryMail(pool, mail, retryDelayMs(mail.attempts), error);
    log.warn({ ...fields, reason: error }, 'a mail could not be sent; it is tried again');
  };

  return {
    name: 'mails',
    wake: () => wake.abort(),
    async run(signal) {
      while (!signal.aborted) {
        wake = new AbortController();
        const mails = await leaseMails(pool, atOnce, leaseMs);
        await Promise.all(mails.map(send));
        if (mails.length < atOnce) await abortableDelay(pollMs, AbortSignal.any([signal, wake.signal]));
      }
    },
  };
}
