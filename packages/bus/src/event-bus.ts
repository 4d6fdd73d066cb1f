/** A record of a topic. Header values are UTF-8 text. */
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

/** A consumer of a topic. */
export interface Subscription {
  readonly topic: string;
  /** Instances of the same group share the partitions; each group receives every record. */
  readonly group: string;
  /**
   * Handles records of one partition, in order. The offset advances only after the handler resolves: a batch is
   * delivered again if the handler throws or the process crashes before that. Batches of different partitions may be
   * handled concurrently. Available records are delivered immediately, without waiting for a fuller batch. The signal
   * aborts when the consumer stops or loses the partition; the handler must then return or throw soon.
   */
  readonly onBatch: (records: readonly ConsumedRecord[], signal: AbortSignal) => Promise<void>;
  /** Called after partitions were assigned to the consumer, when their records can be read. */
  readonly onJoined?: () => void;
  /** Called when records of a partition were deleted before the group consumed them. Later records are delivered. */
  readonly onLost?: () => void;
}

/** A topic that `start` creates if it does not exist. */
export interface Topic {
  readonly topic: string;
  readonly partitions: number;
  /** Replicas of each partition when the topic is created; default 1. */
  readonly replication?: number;
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
