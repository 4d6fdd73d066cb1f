import { coalesce, FairCache } from '@rms/async';
import type { Pool, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { DeliveryJob } from './attempt/job.ts';
import type { Settlement } from './attempt/settle.ts';
import type { Endings } from './record/endings.ts';
import { disableWebhook, type HealthNote, setHealth } from './record/endpoint-health-queries.ts';

const webhooksKept = 10_000;
/** The engine limits the attempts whose notes wait. */
const batches = { maxBatch: 200, maxInFlight: 2, isExclusive: true, maxWaiting: Number.POSITIVE_INFINITY };
/**
 * Time until the health is written again, because another instance, or an owner who enables the webhook, may have
 * changed it.
 */
const knownForMs = 60_000;

/**
 * Tracks since when endpoints have been failing, and disables webhooks with an endpoint that responds with 410 Gone or
 * has failed for too long. Every response except 200 counts as a failure here, even if it closes the circuit. The time
 * is checked when
 *
 * - a delivery has used up its retries, or
 * - an attempt fails and the circuit is open, because an open circuit postpones retries for as long as it is open.
 *
 * It is not checked after other failures, so that a webhook with few events is not judged by a single one. At the same
 * moments, a failure is reported as `webhook.failing`; the first success after it, as `webhook.recovered`.
 */
export interface EndpointHealth {
  /**
   * Updates the health after an attempt was recorded. Never rejects: a failed update is repeated after the next
   * attempt.
   * @param isOpen whether the circuit was open during the attempt
   */
  note(job: DeliveryJob, settlement: Settlement, isOpen: boolean): Promise<void>;
}

export interface EndpointHealthParts {
  readonly pool: Pool;
  readonly endings: Pick<Endings, 'run'>;
  /** The queues of notices and of operational events. */
  readonly queues: Readonly<Record<'notices' | 'operational', Pick<Queue, 'wake'>>>;
  readonly log: Logger;
  /** Applies to failing endpoints, not to the status 410 Gone. 0 means never. */
  readonly disableAfterHours: number;
  /** Clock in milliseconds. Defaults to performance.now(). */
  readonly now?: () => number;
}

export function createEndpointHealth(parts: EndpointHealthParts): EndpointHealth {
  const { pool, endings, queues, log, disableAfterHours, now } = parts;
  /**
   * Whether a webhook is failing, as recently written by this instance. 'reported' means that its failure has been
   * reported, 'overdue' that it has been failing for `disableAfterHours`. Only changes are written.
   */
  const known = new FairCache<'no' | 'yes' | 'reported' | 'overdue'>({
    max: webhooksKept,
    ttlMs: knownForMs,
    ...(now ? { nowMs: now } : {}),
  });

  /**
   * Many endpoints may start to fail at the same time, so notes are batched. A workspace's batches run one after
   * another, so that the last note of a webhook wins. A locked webhook delays only the notes of its batch: attempts are
   * held for their notes. Returns whether the webhook has been failing for `disableAfterHours`.
   */
  const write = coalesce(
    async (notes: HealthNote[]) => {
      const overdue = await setHealth(pool, notes, disableAfterHours);
      return notes.map(({ ref }) => overdue.has(ref.webhookId));
    },
    { tenantOf: ({ ref }) => ref.workspaceId, ...batches },
  );

  const disable = async (job: DeliveryJob, reason: 'gone' | 'failing') => {
    const fields = { webhook_id: job.webhookId, delivery_id: job.id, request_id: job.requestId };
    const cause = { url: job.endpoint.url, reason, failingForHours: disableAfterHours };
    if (await endings.run(job.workspaceId, () => disableWebhook(pool, job, cause))) {
      queues.notices.wake();
      queues.operational.wake();
      log.warn({ ...fields, reason }, 'webhook disabled');
    }
  };

  const noteAttempt = async (job: DeliveryJob, { status, endReason }: Settlement, isOpen: boolean) => {
    const failing = status !== 'delivered';
    const before = known.get(job.webhookId);
    const reports = failing && (status === 'failed' || isOpen);
    if (before === undefined || (before !== 'no') !== failing || (reports && before === 'yes')) {
      const overdue = await write({ ref: job, failing, reports });
      known.set(job.workspaceId, job.webhookId, failing ? (overdue ? 'overdue' : reports ? 'reported' : 'yes') : 'no');
      queues.operational.wake();
    }
    const isOverdue = isOpen && known.get(job.webhookId) === 'overdue';
    if (endReason === 'retries_exhausted') queues.operational.wake();
    if (endReason === 'endpoint_gone') await disable(job, 'gone');
    else if ((status === 'failed' && disableAfterHours > 0) || isOverdue) await disable(job, 'failing');
  };

  return {
    note: (job, settlement, isOpen) =>
      noteAttempt(job, settlement, isOpen).catch((err: unknown) =>
        log.warn(
          { err, webhook_id: job.webhookId, request_id: job.requestId },
          'could not update the health of a webhook',
        ),
      ),
  };
}
