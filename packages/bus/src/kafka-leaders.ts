import type { Admin } from 'kafkajs';
import type { PublishBatch } from './event-bus.ts';
import { readPartitions } from './kafka-topics.ts';

/** Which broker leads a partition, as far as is known. */
export interface Leaders {
  of(place: Pick<PublishBatch, 'topic' | 'partition'>): number | undefined;
  /** Asks anew, unless that is under way; what is known stays until there is an answer. */
  refresh(topic: string): void;
}

export function createLeaders(admin: Pick<Admin, 'fetchTopicMetadata'>): Leaders {
  const known = new Map<string, ReadonlyMap<number, number>>();
  const asking = new Set<string>();
  const ask = async (topic: string) => {
    const partitions = (await readPartitions(admin, [topic])).get(topic) ?? [];
    known.set(topic, new Map(partitions.map(({ partitionId, leader }) => [partitionId, leader])));
  };
  return {
    of: ({ topic, partition }) => known.get(topic)?.get(partition),
    refresh(topic) {
      if (asking.has(topic)) return;
      asking.add(topic);
      ask(topic)
        .catch(() => {})
        .finally(() => asking.delete(topic));
    },
  };
}
