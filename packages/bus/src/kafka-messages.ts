import type { Message } from 'kafkajs';
import type { PublishBatch } from './event-bus.ts';

/** Maximum time for the brokers to replicate a batch; shorter than the request timeout. */
const copyTimeoutMs = 8_000;

/** Acknowledges a batch after all in-sync replicas have it. */
export const ackAll = { acks: -1, timeout: copyTimeoutMs } as const;

/** Converts the records of a batch. The values share the memory of the records. */
export function toMessages({ partition, records }: PublishBatch): Message[] {
  return records.map(({ key, value, headers }) => ({
    key,
    value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
    headers: { ...headers },
    partition,
  }));
}
