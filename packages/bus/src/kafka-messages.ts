import type { Message, RecordMetadata } from 'kafkajs';
import type { PublishBatch } from './event-bus.ts';
import { MissingPartitionError } from './kafka-errors.ts';

/** Maximum time for the brokers to replicate a batch; shorter than the request timeout. */
const copyTimeoutMs = 8_000;

/** Acknowledges a batch after all in-sync replicas have it. */
export const ackAll = { acks: -1, timeout: copyTimeoutMs } as const;

/**
 * Throws unless the partition of each batch was acknowledged. kafkajs ignores messages for a partition that the topic
 * does not have, and reports success.
 */
export function checkAcknowledged(batches: readonly PublishBatch[], acknowledged: readonly RecordMetadata[]): void {
  for (const batch of batches) {
    const isAcknowledged = acknowledged.some(
      ({ topicName, partition }) => topicName === batch.topic && partition === batch.partition,
    );
    if (!isAcknowledged) throw new MissingPartitionError(batch);
  }
}

/** Converts a batch's records. The values share the records' memory. */
export function toMessages({ partition, records }: PublishBatch): Message[] {
  return records.map(({ key, value, headers }) => ({
    key,
    value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
    headers: { ...headers },
    partition,
  }));
}
