import type { Admin, PartitionMetadata } from 'kafkajs';
import type { Topic } from './event-bus.ts';

/**
 * Creates missing topics. Throws if a topic has a different number of partitions than configured; only an operator can
 * fix that.
 */
export async function ensureTopics(admin: Admin, topics: readonly Topic[]): Promise<void> {
  if (topics.length === 0) return;
  await admin.createTopics({
    waitForLeaders: true,
    topics: topics.map(({ topic, partitions, replication = 1 }) => ({
      topic,
      numPartitions: partitions,
      replicationFactor: replication,
      // With three replicas one broker may be down: a write is acknowledged once two replicas have it.
      configEntries: [{ name: 'min.insync.replicas', value: String(replication > 2 ? 2 : 1) }],
    })),
  });
  const found = await readPartitions(
    admin,
    topics.map(({ topic }) => topic),
  );
  for (const { topic, partitions } of topics) {
    const actual = found.get(topic)?.length ?? 0;
    if (actual !== partitions)
      throw new Error(
        `topic ${topic} has ${actual} partitions, but EVENT_PARTITIONS is ${partitions}; set it to ${actual}, or create the ` +
          `topic with ${partitions} partitions`,
      );
  }
}

/** Reads the current partition metadata of topics, by topic name. */
export async function readPartitions(
  admin: Pick<Admin, 'fetchTopicMetadata'>,
  names: string[],
): Promise<ReadonlyMap<string, readonly PartitionMetadata[]>> {
  const { topics } = await admin.fetchTopicMetadata({ topics: names });
  return new Map(topics.map(({ name, partitions }) => [name, partitions]));
}
