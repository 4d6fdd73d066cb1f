import type { Pool } from '@rms/db';
import { coalesce } from '@rms/rpc';
import type { Logger } from '@rms/service';
import { LRUCache } from 'lru-cache';
import { disableWebhook, type HealthNote, setHealth } from '../subscription/health-queries.ts';
import type { Next } from './endpoint-queue.ts';
import type { DeliveryJob } from './job.ts';
import type { Settlement } from './settle.ts';

const webhooksKept = 10_000;
/** Another instance, or an owner who enables the webhook, may have written otherwise: then it is written again. */
const knownForMs = 60_000;

/** Remembers since when endpoints fail, and disables those that are gone or have failed for long. */
export interface EndpointHealth {
  /** After an attempt of a job was recorded. Never rejects: what is not noted now is noted after the next one. */
  note(job: DeliveryJob, settlement: Settlement): Promise<void>;
  /** After an attempt: whether the webhook's circuit is open at this instance. */
  noteCircuit(job: DeliveryJob, after: Pick<Next, 'health' | 'isOpen'>): void;
}

export interface EndpointHealthParts {
  readonly pool: Pool;
  readonly log: Logger;
  /** Of failures only; 0: never. */
  readonly disableAfterHours: number;
  /** A clock; default: performance.now(). */
  readonly now?: () => number;
}

export function createEndpointHealth({ pool, log, disableAfterHours, now }: EndpointHealthParts): EndpointHealth {
  const written = <Value extends {}>() =>
    new LRUCache<string, Value>({
      max: webhooksKept,
      ttl: knownForMs,
      ttlResolution: 0,
      ...(now ? { perf: { now } } : {}),
    });
  /** Whether a webhook is known to fail, as this instance has written it lately: only changes are written. */
  const failing = written<boolean>();
  /** The same of the circuits of those that fail. */
  const circuits = written<'open' | 'closed'>();
  /** Circuits that this instance has said to be open, and not closed since. */
  const saidOpen = new LRUCache<string, true>({ max: webhooksKept });

  /** Many endpoints may begin to fail at one moment. One batch after the other: the last note of a webhook counts. */
  const note = coalesce(async (notes: HealthNote[]) => {
    await setHealth(pool, notes);
    return notes.map(() => undefined);
  });

  const disable = async (job: DeliveryJob, reason: 'gone' | 'failing') => {
    const fields = { webhook_id: job.webhookId, delivery_id: job.id, request_id: job.requestId };
    if (await disableWebhook(pool, job, { url: job.endpoint.url, reason, failingForHours: disableAfterHours })) {
      log.warn({ ...fields, reason }, 'a webhook is disabled');
    }
  };
  const noteAttempt = async (job: DeliveryJob, { status, gone }: Settlement) => {
    const fails = status !== 'delivered';
    if (failing.get(job.webhookId) !== fails) {
      await note({ ref: job, failing: fails });
      failing.set(job.webhookId, fails);
    }
    if (gone) await disable(job, 'gone');
    // Asked when a delivery has failed for good, so that one that gets no events is not judged by its last one.
    else if (status === 'failed' && disableAfterHours > 0) await disable(job, 'failing');
  };
  const notNoted = (job: DeliveryJob, err: unknown) =>
    log.warn({ err, webhook_id: job.webhookId, request_id: job.requestId }, 'the health of an endpoint was not noted');
  return {
    note: (job, settlement) => noteAttempt(job, settlement).catch((err: unknown) => notNoted(job, err)),
    noteCircuit(job, { health, isOpen }) {
      const { webhookId } = job;
      // A delivery that arrives has closed what others have opened: see setHealth().
      if (health === 'not attempted' || (health === 'arrived' && !saidOpen.has(webhookId))) return;
      const state = isOpen ? 'open' : 'closed';
      if (circuits.get(webhookId) === state) return;
      // Before it is written, so that notes are written in the order in which things happened.
      circuits.set(webhookId, state);
      if (isOpen) saidOpen.set(webhookId, true);
      else saidOpen.delete(webhookId);
      note({ ref: job, isOpen }).catch((err: unknown) => {
        circuits.delete(webhookId);
        saidOpen.set(webhookId, true);
        notNoted(job, err);
      });
    },
  };
}
