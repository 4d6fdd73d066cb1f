import type { Message } from 'kafkajs';
import type { PublishBatch } from './event-bus.ts';

/** How long the brokers may take to copy a batch; shorter than the request's timeout. */
const copyTimeoutMs = 8_000;

/** Every in-sync replica has it before it is acknowledged. */
export const safely = { acks: -1, timeout: copyTimeoutMs } as const;

export function toMessages({ partition, records }: PublishBatch): Message[] {
  return records.map(({ key, value, headers }) => ({
    key,
    value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
    headers: { ...headers },
    partition,
  }));
}
