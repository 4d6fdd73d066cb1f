import type { SecretBox } from '@rms/base/secrets';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { AlertsMetrics } from '../metrics.ts';
import { emailContext } from '../sealed/email-context.ts';
import { compose, type Sender } from './compose.ts';
import { type EmailContent, emailLifeMs, oneLine, retryDelayMs } from './email.ts';
import { endEmail, hastenEmails, type LeasedEmail, leaseEmails, retryEmail } from './email-queries.ts';

/** An email ready to be delivered. */
export interface Outgoing {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  /** Message in wire format. */
  readonly raw: Buffer;
}

/** Delivers an email. "refused" means a permanent failure. Never rejects. */
export type Deliver = (email: Outgoing) => Promise<Delivered>;

type Delivered =
  | { readonly outcome: 'sent'; readonly reply: string }
  | { readonly outcome: 'refused' | 'try_again'; readonly error: string };

export interface EmailSenderParts {
  readonly pool: Pool;
  /** The queue of emails. */
  readonly queue: Queue;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly box: SecretBox;
  readonly deliver: Deliver;
  readonly sender: Sender;
  readonly metrics: Pick<AlertsMetrics, 'emails'>;
  readonly log: Logger;
}

const pollMs = 2_000;
const batchSize = 5;
/** Longer than the delivery of an email can take. */
const leaseMs = 90_000;
const maxReplyLength = 300;

/**
 * Creates the worker that sends queued emails, each at least once.
 *
 *   queued ──leased──► being sent ──accepted─────────────► sent
 *     ▲                  │  │  └──permanent failure, or too old──► failed
 *     └──after a delay───┘  └── process dies: the lease expires ──► queued
 */
export function createEmailSender(parts: EmailSenderParts): Worker {
  const { pool, queue, time, box, deliver, sender, metrics, log } = parts;
  const send = async (email: LeasedEmail) => {
    const fields = { email_id: email.id, workspace_id: email.workspaceId, attempts: email.attempts };
    const giveUp = async (error: string) => {
      await endEmail(pool, email, { state: 'failed', error });
      metrics.emails.inc({ outcome: 'given_up' });
      log.error({ ...fields, reason: error }, 'email not sent');
    };
    if (email.expiresAt.getTime() <= time.nowMs()) return giveUp('expired before it could be sent');
    let raw: Buffer;
    try {
      const content: EmailContent = JSON.parse(box.open(email.sealed, emailContext(email)).toString('utf8'));
      raw = await compose({ ...email, content }, sender);
    } catch (error) {
      return giveUp((error as Error).message);
    }
    const result = await deliver({ id: email.id, from: sender.address, to: email.recipient, raw });
    metrics.emails.inc({ outcome: result.outcome });
    if (result.outcome === 'sent') {
      const reply = oneLine(result.reply, maxReplyLength);
      await endEmail(pool, email, { state: 'sent', reply });
      log.info({ ...fields, reply }, 'email sent');
      if (email.attempts > 1) await hastenEmails(pool, leaseMs);
      return;
    }
    const error = oneLine(result.error, maxReplyLength);
    if (result.outcome === 'refused' || time.nowMs() - email.createdAt.getTime() > emailLifeMs) return giveUp(error);
    await retryEmail(pool, email, retryDelayMs(email.attempts), error);
    log.warn({ ...fields, reason: error }, 'could not send email; retrying');
  };

  return {
    name: 'emails',
    async run(signal) {
      // The SMTP server's settings may have changed.
      await hastenEmails(pool, leaseMs);
      while (!signal.aborted) {
        const emails = await leaseEmails(pool, batchSize, leaseMs);
        await Promise.all(emails.map(send));
        if (emails.length < batchSize) await queue.sleep(pollMs, signal);
      }
    },
  };
}
