import type { Admin } from 'kafkajs';
import type { PartitionLag } from './event-bus.ts';

/** Computes the group's lag from the brokers' offsets. Works for groups without members, too. */
export async function readLag(
  admin: Pick<Admin, 'fetchTopicOffsets' | 'fetchOffsets'>,
  topic: string,
  group: string,
): Promise<readonly PartitionLag[]> {
  const [ends, [positions]] = await Promise.all([
    admin.fetchTopicOffsets(topic),
    admin.fetchOffsets({ groupId: group, topics: [topic] }),
  ]);
  const handled = new Map(positions?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  return ends
    .map(({ partition, low, high }) => {
      // -1: no offset is committed, and the group starts at the first record.
      const next = Math.max(handled.get(partition) ?? -1, Number(low));
      return { partition, records: Math.max(0, Number(high) - next) };
    })
    .sort((a, b) => a.partition - b.partition);
}
