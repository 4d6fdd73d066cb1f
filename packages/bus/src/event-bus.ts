/** One record of a topic. Header values are UTF-8 text. */
export interface BusRecord {
  readonly key: string;
  readonly value: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A record as a consumer sees it. */
export interface ConsumedRecord extends BusRecord {
  readonly partition: number;
  /** Position in the partition; a decimal number of up to 64 bits. */
  readonly offset: string;
}

export interface PublishBatch {
  readonly topic: string;
  /** A batch goes to exactly one partition: its order is kept, and no acknowledged record of it is lost. */
  readonly partition: number;
  readonly records: readonly BusRecord[];
}

export interface Subscription {
  readonly topic: string;
  /** Instances that name the same group share the partitions; different groups each see every record. */
  readonly group: string;
  /**
   * Handles records of one partition, in order. The position moves on only after it resolves: what it throws on, or did
   * not finish before a crash, comes again. Batches of different partitions may be handled side by side.
   * Whatever is there is handed over at once: nothing lingers for a fuller batch. The signal aborts when the consumer
   * stops or loses the partition: finish soon, by returning or throwing.
   */
  readonly onBatch: (records: readonly ConsumedRecord[], signal: AbortSignal) => Promise<void>;
  /** Called each time the consumer has got its share of the partitions. */
  readonly onJoined?: () => void;
}

export interface Topic {
  readonly topic: string;
  readonly partitions: number;
  /** Copies of each partition when the topic is made; default 1. */
  readonly replication?: number;
}

/** How far a group is behind in one partition. */
export interface PartitionLag {
  readonly partition: number;
  /** Records that are in the partition and that the group has not handled, as far as its position says. */
  readonly records: number;
}

/** A durable or in-process log of partitions. Kafka and the in-process bus implement it; one conformance suite holds both. */
export interface EventBus {
  /**
   * Connects, and makes the topics that are missing. A bus that is away does not fail the start: it goes on trying, and
   * publish() and consume() wait for it.
   */
  start(topics: readonly Topic[]): Promise<void>;
  /**
   * Resolves once the batch is safe (Kafka: acks=all). One batch per partition at a time is the caller's duty.
   * Rejects if it may not be, after half a minute at the latest; then the whole batch has to be published again.
   */
  publish(batch: PublishBatch, signal: AbortSignal): Promise<void>;
  /** Consumes until the signal aborts; resolves when the batch under way is finished. Throws if it cannot go on. */
  consume(subscription: Subscription, signal: AbortSignal): Promise<void>;
  /**
   * How far a group is behind, for each partition; empty if nothing can be left behind, as where publish() waits for the
   * handling. Rejects if the bus cannot be asked.
   */
  lag(topic: string, group: string): Promise<readonly PartitionLag[]>;
  /** Whether the bus can be reached right now. */
  healthy(): Promise<boolean>;
  stop(): Promise<void>;
}
