import type { Admin, PartitionMetadata } from 'kafkajs';
import type { Topic } from './event-bus.ts';
import { typeOf } from './kafka-errors.ts';

type TopicAdmin = Pick<Admin, 'createTopics' | 'fetchTopicMetadata'>;

/**
 * Creates missing topics, so that the right to create topics is needed only for them. Throws if a topic has a different
 * number of partitions than configured; only an operator can fix that.
 */
export async function ensureTopics(admin: TopicAdmin, topics: readonly Topic[]): Promise<void> {
  for (const topic of topics) {
    const actual = (await findPartitions(admin, topic.topic)) ?? (await createTopic(admin, topic));
    if (actual !== topic.partitions)
      throw new Error(
        `topic ${topic.topic} has ${actual} partitions, but EVENT_PARTITIONS is ${topic.partitions}; set it to ${actual}, ` +
          `or create the topic with ${topic.partitions} partitions`,
      );
  }
}

/** Creates the topic unless another process does, and returns the number of its partitions. */
async function createTopic(admin: TopicAdmin, { topic, partitions, replication = 1 }: Topic): Promise<number> {
  try {
    await admin.createTopics({
      waitForLeaders: true,
      topics: [
        {
          topic,
          numPartitions: partitions,
          replicationFactor: replication,
          // With three replicas one broker may be down: a write is acknowledged once two replicas have it.
          configEntries: [{ name: 'min.insync.replicas', value: String(replication > 2 ? 2 : 1) }],
        },
      ],
    });
  } catch (error) {
    const lacksRight = /^(?:TOPIC|CLUSTER)_AUTHORIZATION_FAILED$/.test(typeOf(error));
    throw new Error(
      `cannot create topic ${topic} with ${partitions} partitions and ${replication} replicas: ` +
        (lacksRight ? 'the Kafka user lacks the right CREATE; grant it, or create the topic' : reasonOf(error)),
      { cause: error },
    );
  }
  const created = await findPartitions(admin, topic);
  if (created === undefined) throw new Error(`topic ${topic} was created, but the broker does not know it yet`);
  return created;
}

/** Returns the number of partitions of a topic; undefined if the topic does not exist. */
async function findPartitions(admin: TopicAdmin, topic: string): Promise<number | undefined> {
  try {
    return (await readPartitions(admin, [topic])).get(topic)?.length ?? 0;
  } catch (error) {
    const type = typeOf(error);
    if (type === 'UNKNOWN_TOPIC_OR_PARTITION') return undefined;
    if (type !== 'TOPIC_AUTHORIZATION_FAILED') throw error;
    throw new Error(`the Kafka user may not use topic ${topic}; grant it READ and WRITE`, { cause: error });
  }
}

function reasonOf(error: unknown): string {
  const { message, errors: [first] = [] } = error as Error & { errors?: readonly Error[] };
  return first?.message ?? message;
}

/** Reads the current partition metadata of topics, by topic name. */
export async function readPartitions(
  admin: Pick<Admin, 'fetchTopicMetadata'>,
  names: string[],
): Promise<ReadonlyMap<string, readonly PartitionMetadata[]>> {
  const { topics } = await admin.fetchTopicMetadata({ topics: names });
  return new Map(topics.map(({ name, partitions }) => [name, partitions]));
}
