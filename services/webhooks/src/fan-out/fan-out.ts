import { coalesce } from '@rms/async';
import { type BatchRange, type ConsumedRecord, type EventBus, RewoundError, type Subscription } from '@rms/bus';
import type { DatabaseTime, Pool } from '@rms/db';
import { idTime } from '@rms/ids';
import type { Logger } from '@rms/logging';
import type { Worker } from '@rms/service';
import { endSpans, inSpans } from '@rms/tracing';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { FeedWatchers } from '../feed/feed-watchers.ts';
import { logPartitions } from '../log/partitions.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import type { Arrival } from './arrival.ts';
import { startConsumerSpans } from './consumer-spans.ts';
import { createDeadLetters } from './dead-letters.ts';
import { type DeadLetter, decode, isDead } from './decode.ts';
import type { DeferredFanOut } from './deferred-fan-out.ts';
import { createEventStore } from './event-store.ts';
import { advancePositions, type HandledRange } from './position-queries.ts';
import { createPositionStore } from './position-store.ts';

export interface FanOutParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly deadLetterTopic: string;
  readonly group: string;
  /** Retention of events: older ones cannot be stored. */
  readonly retentionDays: number;
  readonly engine: Pick<DeliveryEngine, 'freeCapacity' | 'deliver' | 'wakeFor'>;
  readonly watchers: Pick<FeedWatchers, 'wake'>;
  readonly deferred: Pick<DeferredFanOut, 'wake'>;
  readonly time: DatabaseTime;
  readonly metrics: WebhooksMetrics;
  readonly log: Logger;
}

/** The decoded records of a batch. */
interface Batch {
  readonly arrivals: readonly Arrival[];
  /** Undefined on a bus without positions. */
  readonly range: BatchRange | undefined;
  /** Whether all records of the batch are events. */
  readonly isWhole: boolean;
}

interface Outcome {
  /** The errors of events that PostgreSQL rejected, by event ID. */
  readonly refused: ReadonlyMap<string, Error>;
  /** Whether the position has advanced. */
  readonly isAdvanced: boolean;
}

interface Failure {
  readonly failure: unknown;
}

/**
 * Creates the worker that turns bus events into deliveries. Concurrent batches of different partitions share a
 * statement, which also stores the positions (docs/adr/0030). If the batch has records that cannot be processed, the
 * position advances after they were published to the dead-letter topic:
 *
 *   batch ──► store events and position ──► done
 *     ▲        │ or: store events ──► publish dead letters ──► store position ──► done
 *     ├────────┴─────────────────────────────┘ database or bus down: the batch is redelivered; stored events have no effect
 *   records from the stored position ◄── the stored position is before the batch: the database has gone back
 */
export function createFanOut(parts: FanOutParts): Worker {
  const { pool, bus, topic, deadLetterTopic, group, retentionDays } = parts;
  const { engine, watchers, deferred, time, metrics, log } = parts;
  const publishDeadLetters = createDeadLetters({ bus, topic: deadLetterTopic, source: topic, metrics, log });
  const store = createEventStore({ pool, topic, engine, watchers, deferred, time, metrics });
  const positions = createPositionStore({ pool, topic, metrics });

  /** A batch fails if one of its events could not be stored. The other events of the batch are stored. */
  const storeTogether = coalesce(
    async (batches: Batch[]): Promise<(Outcome | Failure)[]> => {
      const { together, ranges } = continuing(batches);
      const arrivals = unique([...together].flatMap((batch) => batch.arrivals));
      const { refused, failed, behind, isAdvanced } = await store(arrivals, ranges);
      return batches.map((batch) => {
        const { range } = batch;
        if (!together.has(batch)) return { failure: new Error('an earlier batch of the partition is stored first') };
        if (range && behind.has(range.partition)) return { failure: new RewoundError(range) };
        const first = batch.arrivals.find(({ event }) => failed.has(event.id));
        if (first) return { failure: failed.get(first.event.id) };
        return { refused, isAdvanced: isAdvanced && batch.isWhole };
      });
    },
    { maxInFlight: 1, maxBatch: 32 },
  );

  const storeTraced = async (batch: Batch): Promise<Outcome> => {
    const spans = startConsumerSpans(topic, group, batch.arrivals);
    try {
      const stored = await inSpans(spans, () => storeTogether(batch));
      if ('failure' in stored) throw stored.failure;
      endSpans(spans);
      return stored;
    } catch (error) {
      endSpans(spans, error);
      throw error;
    }
  };

  const advance = async (range: BatchRange) => {
    const behind = await advancePositions(pool, topic, [range]);
    if (behind.length > 0) throw new RewoundError(range);
  };

  const handle = async (
    records: readonly ConsumedRecord[],
    signal: AbortSignal,
    range: BatchRange | undefined,
  ): Promise<void> => {
    const nowMs = await time.fresh();
    const decoded = records.map((record) => ({ record, event: decode(record, nowMs, retentionDays) }));
    const arrivals = decoded.flatMap(({ record, event }) => (isDead(event) ? [] : { record, event }));
    await logPartitions.makeFor(
      pool,
      arrivals.map(({ event }) => idTime(event.id)),
      nowMs,
    );
    const batch = { arrivals, range, isWhole: arrivals.length === records.length };
    const { refused, isAdvanced } =
      arrivals.length > 0 ? await storeTraced(batch) : { refused: new Map<string, Error>(), isAdvanced: false };
    const dead = decoded.flatMap(({ record, event }): DeadLetter | [] => {
      if (isDead(event)) return event;
      const refusal = refused.get(event.id);
      return refusal ? { record, reason: 'refused', detail: refusal.message } : [];
    });
    if (dead.length > 0) await publishDeadLetters(dead, signal);
    if (range && !isAdvanced) await advance(range);
  };

  return {
    name: 'fan-out',
    run: (signal, health) => {
      /** Partitions whose last batch failed and will be redelivered. */
      const stuck = new Set<number>();
      const onBatch: Subscription['onBatch'] = async (records, lost, range) => {
        const partition = records[0]?.partition ?? 0;
        try {
          await handle(records, lost, range);
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
      return bus.consume({ topic, group, onBatch, onJoined, positions }, signal);
    },
  };
}

/**
 * Merges the ranges of batches of the same partition. Leaves out batches that do not continue the others of their
 * partition, which is possible while the consumer rejoins its group.
 */
function continuing(batches: readonly Batch[]): { together: ReadonlySet<Batch>; ranges: HandledRange[] } {
  const together = new Set<Batch>();
  const merged = new Map<number, HandledRange>();
  for (const batch of batches) {
    const { range, isWhole } = batch;
    const before = range && merged.get(range.partition);
    if (before && (range.from < before.range.from || range.from > before.range.next)) continue;
    together.add(batch);
    if (!range) continue;
    const last = before && before.range.next >= range.next ? before.range : range;
    const from = before ? before.range.from : range.from;
    merged.set(range.partition, { range: { ...last, from }, advances: isWhole && (before?.advances ?? true) });
  }
  return { together, ranges: [...merged.values()] };
}

/** Removes duplicates, because a statement must not contain the same event twice. */
function unique(arrivals: readonly Arrival[]): Arrival[] {
  return [...new Map(arrivals.map((arrival) => [arrival.event.id, arrival])).values()];
}
