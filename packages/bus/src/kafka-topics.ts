import type { Admin } from 'kafkajs';
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
  for (const { topic, partitions } of topics) {
    const actual = await countPartitions(admin, topic);
    if (actual !== partitions)
      throw new Error(`topic ${topic} has ${actual} partitions; EVENT_PARTITIONS is ${partitions}`);
  }
}

/** How many partitions a topic has; 0: there is none of that name. */
export async function countPartitions(admin: Pick<Admin, 'fetchTopicMetadata'>, topic: string): Promise<number> {
  const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
  return topics.find(({ name }) => name === topic)?.partitions.length ?? 0;
}
