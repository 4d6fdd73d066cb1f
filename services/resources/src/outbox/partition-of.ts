import { crc32 } from 'node:zlib';

/**
 * Returns a record key's partition: CRC-32 of the key modulo the number of partitions. All events of a resource
 * are in the same partition, which keeps their order. If the number of partitions is reduced, the relay moves the rows
 * in the outbox; if it is increased, the order of resources with rows in the outbox is lost.
 */
export function partitionOf(recordKey: string, partitions: number): number {
  return crc32(recordKey) % partitions;
}
