import type { Admin, ConfigResourceTypes, PartitionMetadata } from 'kafkajs';
import type { Topic } from './event-bus.ts';
import { typeOf } from './kafka-errors.ts';

/** ConfigResourceTypes.TOPIC, which kafkajs does not export to ES modules. */
const topicType: ConfigResourceTypes = 2;

type TopicAdmin = Pick<Admin, 'createTopics' | 'fetchTopicMetadata' | 'describeConfigs'>;

/**
 * Creates missing topics, so that the right to create topics is needed only for them. Throws if a topic has a different
 * number of partitions than configured, or deletes older records with the same key; only an operator can fix that.
 */
export async function ensureTopics(admin: TopicAdmin, topics: readonly Topic[]): Promise<void> {
  for (const topic of topics) {
    const actual = (await findPartitions(admin, topic.topic)) ?? (await createTopic(admin, topic));
    if (actual !== topic.partitions)
      throw new Error(
        `topic ${topic.topic} has ${actual} partitions, but EVENT_PARTITIONS is ${topic.partitions}; set it to ${actual}, ` +
          `or create the topic with ${topic.partitions} partitions`,
      );
    if (await isCompacted(admin, topic.topic))
      throw new Error(
        `topic ${topic.topic} has the setting cleanup.policy=compact, with which Kafka deletes records before they are ` +
          'consumed; set it to delete',
      );
  }
}

/** Returns whether a topic keeps only the newest record of each key; false if the user may not read its settings. */
async function isCompacted(admin: TopicAdmin, topic: string): Promise<boolean> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: topicType, name: topic, configNames: ['cleanup.policy'] }],
    });
    return resources.some(({ configEntries }) => configEntries.some(({ configValue }) => /compact/.test(configValue)));
  } catch (error) {
    if (typeOf(error) === 'TOPIC_AUTHORIZATION_FAILED') return false;
    throw error;
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
          configEntries: [
            { name: 'min.insync.replicas', value: String(replication > 2 ? 2 : 1) },
            // The default of the cluster may be to keep only the newest record of each key.
            { name: 'cleanup.policy', value: 'delete' },
            // Another setting of the cluster would make the brokers compress each batch again.
            { name: 'compression.type', value: 'producer' },
          ],
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
