import type { Logger } from '@rms/runtime/logging';
import type { Admin, ConfigResourceTypes, PartitionMetadata } from 'kafkajs';
import type { Topic } from './event-bus.ts';
import { typeOf } from './kafka-errors.ts';

/** ConfigResourceTypes.TOPIC, which kafkajs does not export to ES modules. */
const topicType: ConfigResourceTypes = 2;
const dayMs = 24 * 3_600_000;

type TopicAdmin = Pick<Admin, 'createTopics' | 'fetchTopicMetadata' | 'describeConfigs'>;

/**
 * Creates missing topics, so that permission to create topics is needed only for them. Throws if a topic has a
 * different number of partitions than configured, or deletes older records with the same key; only an operator can fix
 * that. Logs settings that can lose records.
 */
export async function ensureTopics(
  admin: TopicAdmin,
  topics: readonly Topic[],
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  for (const topic of topics) {
    const actual = (await findPartitions(admin, topic.topic)) ?? (await createTopic(admin, topic));
    if (actual !== topic.partitions)
      throw new Error(
        `topic ${topic.topic} has ${actual} partitions, but EVENT_PARTITIONS is ${topic.partitions}; set it to ${actual}, ` +
          `or create the topic with ${topic.partitions} partitions`,
      );
    const settings = await readTopicSettings(admin, topic.topic);
    if (settings.get('cleanup.policy')?.includes('compact'))
      throw new Error(
        `topic ${topic.topic} has the setting cleanup.policy=compact, with which Kafka deletes records before they are ` +
          'consumed; set it to delete',
      );
    const risks = risksOf(topic, settings, await countReplicas(admin, topic.topic));
    if (risks.length > 0) log.warn({ topic: topic.topic, risks }, 'a topic of Kafka may lose records');
  }
}

/** Returns the settings that let Kafka lose records of a topic. */
function risksOf({ retentionMs = 0 }: Topic, settings: ReadonlyMap<string, string>, replicas: number): string[] {
  const keptMs = Number(settings.get('retention.ms') ?? -1);
  const days = (ms: number) => `${Math.round(ms / dayMs)} days`;
  return [
    ...(keptMs >= 0 && keptMs < retentionMs
      ? [
          `retention.ms is ${keptMs}, less than the ${days(retentionMs)} (${retentionMs}) for which records may be needed`,
        ]
      : []),
    ...(replicas > 2 && settings.get('min.insync.replicas') === '1'
      ? [`min.insync.replicas is 1 with ${replicas} replicas: a write is acknowledged by one broker; set it to 2`]
      : []),
  ];
}

/** Reads the settings that determine the durability of records; none if the user may not read them. */
async function readTopicSettings(admin: TopicAdmin, topic: string): Promise<ReadonlyMap<string, string>> {
  try {
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [
        { type: topicType, name: topic, configNames: ['cleanup.policy', 'retention.ms', 'min.insync.replicas'] },
      ],
    });
    const entries = resources.flatMap(({ configEntries }) => configEntries);
    return new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
  } catch (error) {
    if (typeOf(error) === 'TOPIC_AUTHORIZATION_FAILED') return new Map();
    throw error;
  }
}

async function countReplicas(admin: TopicAdmin, topic: string): Promise<number> {
  const partitions = (await readPartitions(admin, [topic])).get(topic) ?? [];
  return Math.max(0, ...partitions.map(({ replicas }) => replicas.length));
}

/** Creates the topic unless another process does, and returns the number of its partitions. */
async function createTopic(
  admin: TopicAdmin,
  { topic, partitions, replication = 1, retentionMs }: Topic,
): Promise<number> {
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
            // The cluster's default may be to keep only the newest record of each key.
            { name: 'cleanup.policy', value: 'delete' },
            // Another setting of the cluster would make the brokers compress each batch again.
            { name: 'compression.type', value: 'producer' },
            ...(retentionMs === undefined ? [] : [{ name: 'retention.ms', value: String(retentionMs) }]),
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
