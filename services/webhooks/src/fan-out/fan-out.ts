import { coalesce } from '@rms/async';
import type { ConsumedRecord, EventBus } from '@rms/bus';
import type { DatabaseTime, Pool } from '@rms/db';
import type { Logger } from '@rms/logging';
import type { Worker } from '@rms/service';
import { endSpans, inSpans } from '@rms/tracing';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { FeedWatchers } from '../feed/feed-watchers.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import type { Arrival } from './arrival.ts';
import { startConsumerSpans } from './consumer-spans.ts';
import { createDeadLetters } from './dead-letters.ts';
import { type DeadLetter, decode, isDead } from './decode.ts';
import type { DeferredFanOut } from './deferred-fan-out.ts';
import { createEventStore } from './event-store.ts';

export interface FanOutParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly group: string;
  readonly engine: Pick<DeliveryEngine, 'freeCapacity' | 'deliver' | 'wakeFor'>;
  readonly watchers: Pick<FeedWatchers, 'wake'>;
  readonly deferred: Pick<DeferredFanOut, 'wake'>;
  readonly time: DatabaseTime;
  readonly metrics: WebhooksMetrics;
  readonly log: Logger;
}

interface Refusals {
  /** The errors of events that PostgreSQL rejected, by event ID. */
  readonly refused: ReadonlyMap<string, Error>;
}

interface Failure {
  readonly failure: unknown;
}

/**
 * Creates the worker that turns bus events into deliveries. Concurrent batches of different partitions share a
 * statement. The consumer offset is committed after the database commit, and after records that cannot be processed
 * were published to the dead-letter topic:
 *
 *   batch ──► store events ──► publish dead letters ──► commit offset
 *     ▲             │ database down     │ bus down
 *     └─────────────┴───────────────────┘ batch is redelivered; events already stored have no effect
 */
export function createFanOut(parts: FanOutParts): Worker {
  const { pool, bus, topic, deadLetterTopic, group, engine, watchers, deferred, time, metrics, log } = parts;
  const publishDeadLetters = createDeadLetters({ bus, topic: deadLetterTopic, source: topic, metrics, log });
  const store = createEventStore({ pool, engine, watchers, deferred, time, metrics });

  /** A batch fails if one of its events could not be stored. The other events of the batch are stored. */
  const storeTogether = coalesce(
    async (batches: Arrival[][]): Promise<(Refusals | Failure)[]> => {
      const { refused, failed } = await store(unique(batches.flat()));
      return batches.map((arrivals) => {
        const first = arrivals.find(({ event }) => failed.has(event.id));
        return first ? { failure: failed.get(first.event.id) } : { refused };
      });
    },
    { maxInFlight: 1, maxBatch: 32 },
  );

  const storeTraced = async (arrivals: Arrival[]): Promise<Refusals> => {
    const spans = startConsumerSpans(topic, group, arrivals);
    try {
      const stored = await inSpans(spans, () => storeTogether(arrivals));
      if ('failure' in stored) throw stored.failure;
      endSpans(spans);
      return stored;
    } catch (error) {
      endSpans(spans, error);
      throw error;
    }
  };

  const handle = async (records: readonly ConsumedRecord[], signal: AbortSignal) => {
    const nowMs = await time.fresh();
    const decoded = records.map((record) => ({ record, event: decode(record, nowMs) }));
    const arrivals = decoded.flatMap(({ record, event }) => (isDead(event) ? [] : { record, event }));
    const { refused } = arrivals.length > 0 ? await storeTraced(arrivals) : { refused: new Map<string, Error>() };
    const dead = decoded.flatMap(({ record, event }): DeadLetter | [] => {
      if (isDead(event)) return event;
      const refusal = refused.get(event.id);
      return refusal ? { record, reason: 'refused', detail: refusal.message } : [];
    });
    if (dead.length > 0) await publishDeadLetters(dead, signal);
  };

  return {
    name: 'fan-out',
    run: (signal, health) => {
      /** Partitions whose last batch failed and will be redelivered. */
      const stuck = new Set<number>();
      const onBatch = async (records: readonly ConsumedRecord[], lost: AbortSignal) => {
        const partition = records[0]?.partition ?? 0;
        try {
          await handle(records, lost);
          stuck.delete(partition);
          if (stuck.size === 0) health?.working();
        } catch (error) {
          if (lost.aborted) stuck.delete(partition);
          else stuck.add(partition);
          if (stuck.size > 0) health?.stuck();
          throw error;
        }
      };
      // Stuck until it has joined the consumer group.
      health?.stuck();
      const onJoined = () => {
        if (stuck.size === 0) health?.working();
      };
      return bus.consume({ topic, group, onBatch, onJoined, onLost: () => metrics.losses.inc() }, signal);
    },
  };
}

/** Removes duplicates, because a statement must not contain the same event twice. */
function unique(arrivals: readonly Arrival[]): Arrival[] {
  return [...new Map(arrivals.map((arrival) => [arrival.event.id, arrival])).values()];
}
