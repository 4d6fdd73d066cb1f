import type { Admin } from 'kafkajs';
import type { PublishBatch } from './event-bus.ts';
import { readPartitions } from './kafka-topics.ts';

/** Cache of the leading broker of each partition. */
export interface Leaders {
  of(target: Pick<PublishBatch, 'topic' | 'partition'>): number | undefined;
  /** Fetches the leaders again unless a fetch is running. Known leaders stay until the response arrives. */
  refresh(topic: string): void;
}

/** Creates an empty cache. Failed fetches are ignored; the next refresh tries again. */
export function createLeaders(admin: Pick<Admin, 'fetchTopicMetadata'>): Leaders {
  const known = new Map<string, ReadonlyMap<number, number>>();
  const pending = new Set<string>();
  const ask = async (topic: string) => {
    const partitions = (await readPartitions(admin, [topic])).get(topic) ?? [];
    known.set(topic, new Map(partitions.map(({ partitionId, leader }) => [partitionId, leader])));
  };
  return {
    of: ({ topic, partition }) => known.get(topic)?.get(partition),
    refresh(topic) {
      if (pending.has(topic)) return;
      pending.add(topic);
      ask(topic)
        .catch(() => {})
        .finally(() => pending.delete(topic));
    },
  };
}
