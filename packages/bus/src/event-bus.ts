import { abortableDelay } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';

/** Time within which the broker must acknowledge a batch. */
export const publishTimeoutMs = 30_000;

/** A topic record. Header values are UTF-8 text. */
export interface BusRecord {
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A record as consumers receive it. */
export interface ConsumedRecord extends BusRecord {
  readonly partition: number;
  /** Offset in the partition: a decimal number of up to 64 bits. */
  readonly offset: string;
}

/** Records to publish together. */
export interface PublishBatch {
  readonly topic: string;
  /** A batch goes to exactly one partition. This keeps its order and prevents the loss of acknowledged records. */
  readonly partition: number;
  readonly records: readonly BusRecord[];
}

/**
 * The range of a partition that a batch covers. Some of its offsets may have no record. A handler that stores positions
 * stores `next` and `last` when the records are handled.
 */
export interface BatchRange {
  readonly partition: number;
  /** End of the previously handled range. */
  readonly from: bigint;
  /** Offset of the next batch. */
  readonly next: bigint;
  /** Digest of the last record, which identifies it. */
  readonly last: string;
}

/** A stored position in a partition. */
export interface StoredPosition {
  /** Offset of the next record. */
  readonly next: bigint;
  /** Digest of the record before `next`; undefined if it is not known. */
  readonly last: string | undefined;
}

/** Records that were deleted before they were consumed. */
export interface Loss {
  /** `deleted`: the broker deleted them. `replaced`: the topic was created again, or its log was truncated. */
  readonly reason: 'deleted' | 'replaced';
  /** The lost offsets, from the first to before the second; undefined if unknown. */
  readonly range: readonly [from: bigint, next: bigint] | undefined;
}

/** A consumer decision that the store records. */
export interface PositionMove {
  readonly partition: number;
  /** The stored position that the decision is based on; undefined: none. */
  readonly was: bigint | undefined;
  /** Where the consumer continues. */
  readonly next: bigint;
  readonly loss: Loss | undefined;
  /**
   * The store has gone back, or lost an unknown number of records, since it was in this epoch: it must begin a later one,
   * unless it has done so.
   */
  readonly endedEpoch: number | undefined;
}

/**
 * Positions of a group that its handler stores together with the records' results (docs/adr/0030). They decide
 * where the consumer starts. The offsets that it commits to the broker serve for the lag only, and to notice that the
 * store has gone back.
 */
export interface PositionStore {
  /** Reads the stored positions of partitions, and the store's epoch. */
  read(
    partitions: readonly number[],
  ): Promise<{ readonly epoch: number; readonly positions: ReadonlyMap<number, StoredPosition> }>;
  /**
   * Stores a position that the consumer has chosen, with the loss and the new epoch, in one commit. Resolves to the epoch
   * after it; to undefined, without any effect, if the stored position is another one by now.
   */
  move(move: PositionMove): Promise<number | undefined>;
}

/** Reports that the stored position is before a batch's range, which therefore must not be handled yet. */
export class RewoundError extends Error {
  constructor({ partition, from }: BatchRange) {
    super(`the stored position in partition ${partition} is before offset ${from}`);
  }
}

/** A topic consumer. */
export interface Subscription {
  readonly topic: string;
  /** Instances of the same group share the partitions; each group receives every record. */
  readonly group: string;
  /**
   * Handles a single partition's records, in order. The offset advances only after the handler resolves: a batch is
   * delivered again if the handler throws or the process crashes before that. Batches of different partitions may be
   * handled concurrently. Available records are delivered immediately, without waiting for a fuller batch. The signal
   * aborts when the consumer stops or loses the partition; the handler must then return or throw soon.
   *
   * `range` is undefined without `positions`, and on a bus in process, which has no position. If the handler throws
   * {@link RewoundError}, the consumer continues at the stored position.
   */
  readonly onBatch: (
    records: readonly ConsumedRecord[],
    signal: AbortSignal,
    range: BatchRange | undefined,
  ) => Promise<void>;
  /** The positions that the handler stores. Default: the broker stores them. */
  readonly positions?: PositionStore;
  /** Called after partitions were assigned to the consumer, when their records can be read. */
  readonly onJoined?: () => void;
}

/** Retention of the topic of events: a week to repair an outage of the consumers, and a day of reserve. */
export const eventRetentionMs = 8 * 24 * 3_600_000;

/** A topic that `start` creates if it does not exist. */
export interface Topic {
  readonly topic: string;
  readonly partitions: number;
  /** Replicas of each partition when the topic is created; default 1. */
  readonly replication?: number;
  /** How long the broker must keep records, in milliseconds. A shorter retention is logged. */
  readonly retentionMs?: number;
}

/** Consumer lag of a group in one partition. */
export interface PartitionLag {
  readonly partition: number;
  /** Records in the partition after the group's committed offset. */
  readonly records: number;
}

/** A log of partitioned topics, implemented on Kafka and in process. One conformance suite tests both. */
export interface EventBus {
  /**
   * Connects and creates missing topics. If the bus is unreachable, start() still resolves and keeps retrying in the
   * background; publish() and consume() wait for the connection.
   */
  start(topics: readonly Topic[]): Promise<void>;
  /**
   * Resolves once the batch is durable (Kafka: acks=all). The caller must publish one batch per partition at a time.
   * Rejects within 30 seconds if the batch may not be durable; the caller must then publish the whole batch again.
   */
  publish(batch: PublishBatch, signal: AbortSignal): Promise<void>;
  /**
   * Consumes until the signal aborts, then resolves when the current batch is finished. Rejects if the consumer fails.
   */
  consume(subscription: Subscription, signal: AbortSignal): Promise<void>;
  /**
   * Returns a group's lag per partition. Empty for a bus that cannot lag because publish() waits for the handlers.
   * Rejects if the bus is unreachable.
   */
  lag(topic: string, group: string): Promise<readonly PartitionLag[]>;
  /** Returns whether the bus is reachable now. */
  healthy(): Promise<boolean>;
  stop(): Promise<void>;
}

/** Delay of the first retry of a failed call; doubles up to {@link maxRetryMs}. */
export const firstRetryMs = 50;
export const maxRetryMs = 1_000;

/**
 * Calls the handler with `records` until it succeeds. Rejects after the signal has aborted.
 *
 * @throws RewoundError
 */
export async function handleUntilDone(
  { group, topic, onBatch }: Subscription,
  records: readonly ConsumedRecord[],
  signal: AbortSignal,
  log: Logger | undefined,
  range?: BatchRange,
): Promise<void> {
  for (let retryMs = firstRetryMs; ; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
    signal.throwIfAborted();
    try {
      return await onBatch(records, signal, range);
    } catch (err) {
      if (signal.aborted || err instanceof RewoundError) throw err;
      const { partition, offset } = records[0] ?? {};
      log?.warn({ err, group, topic, partition, offset, records: records.length }, 'batch handler failed; retrying');
      await abortableDelay(retryMs, signal);
    }
  }
}
