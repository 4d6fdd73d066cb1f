import type { Admin, PartitionMetadata } from 'kafkajs';
import type { Topic } from './event-bus.ts';

/** Makes the topics that are missing. One with too few partitions is an operator's mistake that no retry mends. */
export async function ensureTopics(admin: Admin, topics: readonly Topic[]): Promise<void> {
  if (topics.length === 0) return;
  await admin.createTopics({
    waitForLeaders: true,
    topics: topics.map(({ topic, partitions, replication = 1 }) => ({
      topic,
      numPartitions: partitions,
      replicationFactor: replication,
      // With three copies one broker may be away: a write is acknowledged once two have it.
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
      throw new Error(`topic ${topic} has ${actual} partitions; EVENT_PARTITIONS is ${partitions}`);
  }
}

/** The partitions of these topics, by the topics' names, as the brokers know them now. */
export async function readPartitions(
  admin: Pick<Admin, 'fetchTopicMetadata'>,
  names: string[],
): Promise<ReadonlyMap<string, readonly PartitionMetadata[]>> {
  const { topics } = await admin.fetchTopicMetadata({ topics: names });
  return new Map(topics.map(({ name, partitions }) => [name, partitions]));
}
