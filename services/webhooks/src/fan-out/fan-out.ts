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
import { createEventStore, type Unstored } from './event-store.ts';

export interface FanOutParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly group: string;
  readonly engine: Pick<DeliveryEngine, 'freeCapacity' | 'deliver' | 'wakeFor'>;
  readonly watchers: Pick<FeedWatchers, 'wake'>;
  readonly deferred: Pick<DeferredFanOut, 'wake'>;
  readonly time: DatabaseTime;
  readonly metrics: WebhooksMetrics;
  readonly log: Logger;
}

/** The records of a batch, in order. */
type Batch = readonly (Arrival | DeadLetter)[];

/** The reason why a batch must be delivered again. */
interface Failure {
  readonly failure: unknown;
}

/**
 * Creates the worker that turns bus events into deliveries. Concurrent batches of different partitions share a
 * statement. The consumer offset is committed after the database commits: of the events, and of the records that could
 * not be stored as events, which are kept as dead letters.
 *
 *   batch ──► store events ──► keep dead letters ──► commit offset
 *     ▲             │ database down     │ database down
 *     └─────────────┴───────────────────┘ batch is redelivered; records already stored have no effect
 */
export function createFanOut(parts: FanOutParts): Worker {
  const { pool, bus, topic, group, engine, watchers, deferred, time, metrics, log } = parts;
  const keepDeadLetters = createDeadLetters({ pool, topic, metrics, log });
  const store = createEventStore({ pool, engine, watchers, deferred, time, metrics });

  /** A batch fails if one of its records could not be stored. The other records of the batch are stored. */
  const storeTogether = coalesce(
    async (batches: Batch[]): Promise<(Failure | undefined)[]> => {
      const unstored = await store(unique(batches.flatMap(arrivalsOf)));
      const failures = batches.map((batch) => failureOf(batch, unstored));
      const letters = batches.map((batch, i) => (failures[i] ? [] : lettersOf(batch, unstored)));
      try {
        await keepDeadLetters(letters.flat());
        return failures;
      } catch (failure) {
        return failures.map((before, i) => before ?? (letters[i]?.length ? { failure } : undefined));
      }
    },
    { maxInFlight: 1, maxBatch: 32 },
  );

  const handle = async (records: readonly ConsumedRecord[]) => {
    const nowMs = await time.fresh();
    const batch: Batch = records.map((record) => {
      const event = decode(record, nowMs);
      return isDead(event) ? event : { record, event };
    });
    const spans = startConsumerSpans(topic, group, arrivalsOf(batch));
    try {
      const failed = await inSpans(spans, () => storeTogether(batch));
      if (failed) throw failed.failure;
      endSpans(spans);
    } catch (error) {
      endSpans(spans, error);
      throw error;
    }
  };

  return {
    name: 'fan-out',
    run: (signal, health) => {
      /** Partitions whose last batch failed and will be redelivered. */
      const stuck = new Set<number>();
      const onBatch = async (records: readonly ConsumedRecord[], lost: AbortSignal) => {
        const partition = records[0]?.partition ?? 0;
        try {
          await handle(records);
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

function isArrival(one: Arrival | DeadLetter): one is Arrival {
  return !isDead(one);
}

function arrivalsOf(batch: Batch): Arrival[] {
  return batch.filter(isArrival);
}

function failureOf(batch: Batch, { failed }: Unstored): Failure | undefined {
  const first = arrivalsOf(batch).find(({ event }) => failed.has(event.id));
  return first && { failure: failed.get(first.event.id) };
}

/** Returns the records of a batch that are not stored as events. */
function lettersOf(batch: Batch, { refused, parked }: Unstored): DeadLetter[] {
  return batch.flatMap((one) => {
    if (!isArrival(one)) return one;
    const { id } = one.event;
    if (refused.has(id)) return { ...one, reason: 'refused', detail: messageOf(refused.get(id)) };
    return parked.has(id) ? { ...one, reason: 'failed', detail: messageOf(parked.get(id)) } : [];
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Removes duplicates, because a statement must not contain the same event twice. */
function unique(arrivals: readonly Arrival[]): Arrival[] {
  return [...new Map(arrivals.map((arrival) => [arrival.event.id, arrival])).values()];
}
