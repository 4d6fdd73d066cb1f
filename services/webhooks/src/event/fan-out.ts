import { coalesce } from '@rms/async';
import { endSpans, inSpans } from '@rms/async/tracing';
import { idTime } from '@rms/base/ids';
import {
  type BatchRange,
  type ConsumedRecord,
  type EventBus,
  type PositionStore,
  RewoundError,
  type Subscription,
} from '@rms/bus';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { DeliveryEngine } from '../engine/engine.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import { startConsumerSpans } from './consumer-spans.ts';
import { createDeadLetters } from './dead-letters.ts';
import { type Arrival, type DeadLetter, decode, isDead } from './decode.ts';
import { createEventStore, type Stored } from './event-store.ts';
import type { FeedWatchers } from './feed-watchers.ts';
import type { MadeCounter } from './new-deliveries.ts';
import { logPartitions } from './partitions.ts';
import { type HandledRange, movePosition, readPositions } from './position-queries.ts';

export interface FanOutParts {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  readonly group: string;
  /** Retention of events: older ones cannot be stored. */
  readonly retentionDays: number;
  readonly engine: DeliveryEngine;
  readonly watchers: FeedWatchers;
  /** The queues of deferred events and of parked records. */
  readonly deferred: Queue;
  readonly parked: Queue;
  readonly time: DatabaseTime;
  readonly metrics: WebhooksMetrics;
  readonly usage: MadeCounter;
  readonly log: Logger;
}

/** The decoded records of a batch, in order. */
interface Batch {
  readonly records: readonly (Arrival | DeadLetter)[];
  /** Undefined on a bus without positions. */
  readonly range: BatchRange | undefined;
  /** Whether all records of the batch are events. */
  readonly isWhole: boolean;
}

/** The reason why a batch must be delivered again. */
interface Failure {
  readonly failure: unknown;
}

/**
 * Creates the worker that turns bus events into deliveries. Concurrent batches of different partitions share a
 * statement, which also stores the positions (docs/adr/0030). If records of a batch are not stored as events, the
 * position advances in the commit that keeps them as dead letters:
 *
 *   batch ──► store events and position ──► done
 *     ▲        │ or: store events ──► keep dead letters, store position ──► done
 *     ├────────┴────────────────────────┘ database down: the batch is redelivered; stored records have no effect
 *   records from the stored position ◄── the stored position is before the batch: the database has gone back
 */
export function createFanOut(parts: FanOutParts): Worker {
  const { pool, bus, topic, group, retentionDays, engine, watchers, deferred, parked, time, metrics, usage, log } =
    parts;
  const keepDeadLetters = createDeadLetters({ pool, topic, metrics, log });
  const store = createEventStore({ pool, topic, engine, watchers, deferred, time, metrics, usage });
  const positions = createPositionStore({ pool, topic, metrics });

  /** A batch fails if one of its records could not be stored. The other records of the batch are stored. */
  const storeTogether = coalesce(
    async (batches: Batch[]): Promise<(Failure | undefined)[]> => {
      const { together, ranges } = continuing(batches);
      const stored = await store(unique([...together].flatMap(arrivalsOf)), ranges);
      const failures = new Map<Batch, Failure>();
      for (const batch of batches) {
        const failure = together.has(batch) ? failureOf(batch, stored) : notContinuing;
        if (failure) failures.set(batch, failure);
      }
      const advanced = new Set(stored.isAdvanced ? ranges.filter(({ advances }) => advances).map(partitionOf) : []);
      const rest = batches.filter((batch) => {
        const isAdvanced = batch.range && advanced.has(batch.range.partition);
        return !failures.has(batch) && !isAdvanced;
      });
      for (const [batch, failure] of await finish(rest, stored)) failures.set(batch, failure);
      return batches.map((batch) => failures.get(batch));
    },
    { maxInFlight: 1, maxBatch: 32 },
  );

  /** Keeps the dead letters of batches and advances their positions. Returns the batches that failed. */
  const finish = async (batches: readonly Batch[], stored: Stored): Promise<Map<Batch, Failure>> => {
    const { together, ranges } = continuing(batches);
    const failures = new Map(batches.filter((batch) => !together.has(batch)).map((batch) => [batch, notContinuing]));
    try {
      const letters = [...together].flatMap((batch) => lettersOf(batch, stored));
      const behind = await keepDeadLetters(
        letters,
        ranges.map(({ range }) => range),
      );
      if (letters.some(({ reason }) => reason === 'failed')) parked.wake();
      for (const batch of together) {
        const { range } = batch;
        if (range && behind.includes(range.partition)) failures.set(batch, { failure: new RewoundError(range) });
      }
    } catch (failure) {
      for (const batch of together) failures.set(batch, { failure });
    }
    return failures;
  };

  const handle = async (records: readonly ConsumedRecord[], range: BatchRange | undefined): Promise<void> => {
    const nowMs = await time.fresh();
    const decoded = records.map((record): Arrival | DeadLetter => {
      const event = decode(record, nowMs, retentionDays);
      return isDead(event) ? event : { record, event };
    });
    const arrivals = decoded.filter(isArrival);
    await logPartitions.makeFor(
      pool,
      arrivals.map(({ event }) => idTime(event.id)),
      nowMs,
    );
    const spans = startConsumerSpans(topic, group, arrivals);
    try {
      const batch = { records: decoded, range, isWhole: arrivals.length === decoded.length };
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
      /** Partitions with a failed last batch, which will be redelivered. */
      const stuck = new Set<number>();
      const onBatch: Subscription['onBatch'] = async (records, lost, range) => {
        const partition = records[0]?.partition ?? 0;
        try {
          await handle(records, range);
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

interface PositionStoreParts {
  readonly pool: Pool;
  readonly topic: string;
  readonly metrics: WebhooksMetrics;
}

/** Creates the store for the fan-out's positions in a topic. Its epoch is the feeds' epoch. */
export function createPositionStore({ pool, topic, metrics }: PositionStoreParts): PositionStore {
  return {
    read: (partitions) => readPositions(pool, topic, partitions),
    async move(move) {
      const epoch = await movePosition(pool, topic, move);
      if (epoch !== undefined && move.loss) metrics.losses.inc();
      return epoch;
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

const notContinuing: Failure = { failure: new Error('an earlier batch of the partition is stored first') };

function partitionOf({ range }: HandledRange): number {
  return range.partition;
}

function isArrival(record: Arrival | DeadLetter): record is Arrival {
  return !isDead(record);
}

function arrivalsOf({ records }: Batch): Arrival[] {
  return records.filter(isArrival);
}

function failureOf(batch: Batch, { behind, failed }: Stored): Failure | undefined {
  const { range } = batch;
  if (range && behind.has(range.partition)) return { failure: new RewoundError(range) };
  const first = arrivalsOf(batch).find(({ event }) => failed.has(event.id));
  return first && { failure: failed.get(first.event.id) };
}

/** Returns a batch's records that are not stored as events. */
function lettersOf({ records }: Batch, { refused, parked }: Stored): DeadLetter[] {
  return records.flatMap((record): DeadLetter | [] => {
    if (!isArrival(record)) return record;
    const { id } = record.event;
    if (refused.has(id)) return { ...record, reason: 'refused', detail: messageOf(refused.get(id)) };
    return parked.has(id) ? { ...record, reason: 'failed', detail: messageOf(parked.get(id)) } : [];
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Removes duplicates, because a statement must not contain the same event twice. */
function unique(arrivals: readonly Arrival[]): Arrival[] {
  return [...new Map(arrivals.map((arrival) => [arrival.event.id, arrival])).values()];
}
