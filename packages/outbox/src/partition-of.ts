import { crc32 } from 'node:zlib';

/**
 * Returns the partition of a record key: CRC-32 of the key modulo the number of partitions. All events of a resource
 * are in the same partition, which keeps their order. The number of partitions must not change while rows are in the
 * outbox.
 */
export function partitionOf(recordKey: string, partitions: number): number {
  return crc32(recordKey) % partitions;
}
