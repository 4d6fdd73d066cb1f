import type { SecretBox } from '@rms/base/secrets';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { AlertsMetrics } from '../metrics.ts';
import { emailContext } from '../sealed/contexts.ts';
import { compose, type Sender } from './compose.ts';
import { type EmailContent, emailLifeMs, oneLine, retryDelayMs } from './email.ts';
import { endEmail, hastenEmails, type LeasedEmail, leaseEmails, type QueueTable, retryEmail } from './email-queries.ts';

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

/** Outcome of an attempt to send a message. */
export type Delivered =
  | { readonly outcome: 'sent'; readonly reply: string }
  | { readonly outcome: 'refused' | 'try_again'; readonly error: string };

export interface SenderParts {
  /** Name of the worker. */
  readonly name: string;
  readonly table: QueueTable;
  readonly pool: Pool;
  /** The table's queue. */
  readonly queue: Queue;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  /** See `AlertsConfig`. */
  readonly pollMs: number;
  /** Sends one message. "unsendable": its content cannot be read. Never rejects. */
  readonly transmit: (
    message: LeasedEmail,
  ) => Promise<Delivered | { readonly outcome: 'unsendable'; readonly error: string }>;
  /** Called with the outcome of each attempt. */
  readonly count: (outcome: 'sent' | 'refused' | 'try_again' | 'given_up') => void;
  /** Name of the messages in the log: "email". */
  readonly noun: string;
  readonly log: Logger;
}

const batchSize = 5;
/** Longer than a message's delivery can take. */
const leaseMs = 90_000;
const maxReplyLength = 300;

/**
 * Creates the worker that sends queued messages, each at least once.
 *
 *   queued ──leased──► being sent ──accepted─────────────► sent
 *     ▲                  │  │  └──permanent failure, or too old──► failed
 *     └──after a delay───┘  └── process dies: the lease expires ──► queued
 */
export function createSender(parts: SenderParts): Worker {
  const { name, table, pool, queue, time, pollMs, transmit, count, noun, log } = parts;
  const send = async (message: LeasedEmail) => {
    const fields = {
      [`${noun.replaceAll(' ', '_')}_id`]: message.id,
      workspace_id: message.workspaceId,
      attempts: message.attempts,
    };
    const giveUp = async (error: string) => {
      await endEmail(pool, table, message, { state: 'failed', error });
      count('given_up');
      log.error({ ...fields, reason: error }, `${noun} not sent`);
    };
    if (message.expiresAt.getTime() <= time.nowMs()) return giveUp('expired before it could be sent');
    const result = await transmit(message);
    if (result.outcome === 'unsendable') return giveUp(result.error);
    count(result.outcome);
    if (result.outcome === 'sent') {
      const reply = oneLine(result.reply, maxReplyLength);
      await endEmail(pool, table, message, { state: 'sent', reply });
      log.info({ ...fields, reply }, `${noun} sent`);
      if (message.attempts > 1) await hastenEmails(pool, table, leaseMs);
      return;
    }
    const error = oneLine(result.error, maxReplyLength);
    if (result.outcome === 'refused' || time.nowMs() - message.createdAt.getTime() > emailLifeMs) return giveUp(error);
    await retryEmail(pool, table, message, { inMs: retryDelayMs(message.attempts), error });
    log.warn({ ...fields, reason: error }, `could not send ${noun}; retrying`);
  };

  return {
    name,
    async run(signal) {
      // The receiver's settings may have changed.
      await hastenEmails(pool, table, leaseMs);
      while (!signal.aborted) {
        const messages = await leaseEmails(pool, batchSize, leaseMs, table);
        await Promise.all(messages.map(send));
        if (messages.length < batchSize) await queue.sleep(pollMs, signal);
      }
    },
  };
}

export interface EmailSenderParts extends Pick<SenderParts, 'pool' | 'queue' | 'time' | 'pollMs' | 'log'> {
  readonly box: SecretBox;
  readonly deliver: Deliver;
  readonly sender: Sender;
  readonly metrics: Pick<AlertsMetrics, 'emails'>;
}

/** Creates the worker that sends queued emails. */
export function createEmailSender({ box, deliver, sender, metrics, ...parts }: EmailSenderParts): Worker {
  return createSender({
    ...parts,
    name: 'emails',
    table: 'alerts.emails',
    noun: 'email',
    count: (outcome) => metrics.emails.inc({ outcome }),
    async transmit(email) {
      let raw: Buffer;
      try {
        const content: EmailContent = JSON.parse(box.open(email.sealed, emailContext(email)).toString('utf8'));
        raw = await compose({ ...email, content }, sender);
      } catch (error) {
        return { outcome: 'unsendable', error: (error as Error).message };
      }
      return deliver({ id: email.id, from: sender.address, to: email.recipient, raw });
    },
  });
}
