import { randomBytes } from 'node:crypto';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import {
  type Certificates,
  describeWith,
  type Kafka,
  makeCertificates,
  startKafka,
  suiteFolder,
  waitUntil,
} from '@rms/testkit';
import kafkajs, {
  type Admin,
  Kafka as KafkaClient,
  logLevel,
  type AclOperationTypes as OperationType,
  type AclResourceTypes as ResourceType,
} from 'kafkajs';
import { createKafkaBus, type EventBus, openBus, type Topic } from '../../src/index.ts';
import { record, text } from '../conformance.ts';

// Node finds no named exports for these.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ConfigResourceTypes, ResourcePatternTypes } = kafkajs;
const never = new AbortController().signal;
/** kafkajs as it is before the first client of this process: without zstd. */
const unsupported = kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD];

// Uses its own broker, because it changes its topics and rights. If the shared Kafka is available, this machine can run
// a broker.
describeWith('kafka', 'topics of Kafka that an operator manages', () => {
  const folder = suiteFolder('kafka-topics');
  let certificates: Certificates;
  let kafka: Kafka;
  let admin: Admin;
  let buses: EventBus[] = [];
  let consumers: { abort: AbortController; ended: Promise<void> }[] = [];
  let lines: string[] = [];
  let number = 0;
  let topic: string;

  beforeAll(async () => {
    certificates = makeCertificates(folder);
    const certificate = certificates.issue('kafka', { sans: ['127.0.0.1'] });
    const user = { username: 'rms', password: 'of-rms', restricted: true };
    kafka = await startKafka({ brokers: 1, secure: { caFile: certificates.caFile, ...certificate, ...user } });
    admin = new KafkaClient({ brokers: [kafka.brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
  });
  beforeEach(() => {
    lines = [];
    number += 1;
    topic = `rms.topic-${number}`;
  });
  afterEach(async () => {
    for (const { abort } of consumers) abort.abort();
    await Promise.all([...consumers.map(({ ended }) => ended), ...buses.map((bus) => bus.stop())]);
    buses = [];
    consumers = [];
  });
  afterAll(async () => {
    await admin?.disconnect();
    await kafka?.stop();
  });

  const log = createLogger({ name: 'bus', level: 'warn', destination: { write: (line) => void lines.push(line) } });
  const logged = () => lines.map((line) => JSON.parse(line));
  /** Opens a bus with all rights. */
  const open = () => {
    const bus = createKafkaBus({ brokers: [kafka.brokers], clientId: 'rms-test', log });
    buses.push(bus);
    return bus;
  };
  /** Opens a bus for a user with only the granted rights. */
  const openRestricted = () => {
    const env = {
      KAFKA_BROKERS: kafka.saslBroker,
      KAFKA_TLS: 'true',
      KAFKA_CA_FILE: certificates.caFile,
      KAFKA_SASL_MECHANISM: 'plain',
      KAFKA_SASL_USERNAME: 'rms',
      KAFKA_SASL_PASSWORD: 'of-rms',
    };
    const bus = openBus(readSettings(env), { name: 'test', log });
    buses.push(bus);
    return bus;
  };
  const grant = (resourceName: string, resourceType: ResourceType, ...operations: OperationType[]) =>
    admin.createAcls({
      acl: operations.map((operation) => ({
        resourceType,
        resourceName,
        resourcePatternType: ResourcePatternTypes.LITERAL,
        principal: 'User:rms',
        host: '*',
        operation,
        permissionType: AclPermissionTypes.ALLOW,
      })),
    });
  const create = async (partitions: number, config: Readonly<Record<string, string>> = {}) => {
    const configEntries = Object.entries(config).map(([name, value]) => ({ name, value }));
    await admin.createTopics({ topics: [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }] });
  };
  const remove = async () => {
    await admin.deleteTopics({ topics: [topic] });
    await waitUntil(async () => !(await admin.listTopics()).includes(topic), { what: 'the topic to be deleted' });
  };
  /** Consumes as a supervised worker does: a consumer that fails is replaced. */
  const consume = (bus: EventBus) => {
    const seen: string[] = [];
    const abort = new AbortController();
    const onBatch = async (records: readonly Parameters<typeof text>[0][]) => void seen.push(...records.map(text));
    const run = async () => {
      while (!abort.signal.aborted) await bus.consume({ topic, group: topic, onBatch }, abort.signal).catch(() => {});
    };
    consumers.push({ abort, ended: run() });
    return seen;
  };
  const publish = (bus: EventBus, partition: number, ...values: string[]) =>
    bus.publish({ topic, partition, records: values.map(record) }, never);
  const start = async (bus: EventBus, partitions: number) => {
    const topics: Topic[] = [{ topic, partitions }];
    await bus.start(topics);
  };

  test('a user without the right to create topics uses existing ones', async () => {
    await create(2);
    await grant(topic, AclResourceTypes.TOPIC, AclOperationTypes.READ, AclOperationTypes.WRITE);
    await grant(topic, AclResourceTypes.GROUP, AclOperationTypes.READ);
    const bus = openRestricted();
    await start(bus, 2);
    const seen = consume(bus);
    await publish(bus, 1, 'a');
    await waitUntil(() => seen.includes('a'), { what: 'the record' });
    expect(logged()).toEqual([]);
  });

  test('a topic whose records Kafka compacts is refused until an operator has changed it', async () => {
    await create(1, { 'cleanup.policy': 'compact' });
    const bus = open();
    const starting = start(bus, 1);
    await waitUntil(
      () => logged().some(({ err }) => err?.message.includes(`${topic} has the setting cleanup.policy`)),
      {
        what: 'the reason',
      },
    );
    const type = ConfigResourceTypes.TOPIC;
    const configEntries = [{ name: 'cleanup.policy', value: 'delete' }];
    await admin.alterConfigs({ validateOnly: false, resources: [{ type, name: topic, configEntries }] });
    await starting;
    await publish(bus, 0, 'a');
  });

  test('a topic that keeps records for less time than they may be needed is used, with a warning; a new one is not', async () => {
    const retentionMs = 8 * 24 * 3_600_000;
    await create(1, { 'retention.ms': '604800000' });
    await open().start([{ topic, partitions: 1, retentionMs }]);
    await open().start([{ topic: `${topic}-new`, partitions: 1, retentionMs }]);
    const risk = 'retention.ms is 604800000, less than the 8 days (691200000) for which records may be needed';
    expect(logged()).toMatchObject([{ level: 'warn', topic, risks: [risk] }]);
  });

  test('topics are created with the policy to delete records by age, and keep the compression of the producer', async () => {
    await start(open(), 1);
    const names = ['cleanup.policy', 'compression.type'];
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: names }],
    });
    // 1: a topic setting, not the cluster's default.
    const configured = resources[0]?.configEntries.map(({ configName, configValue, configSource }) => {
      return [configName, configValue, configSource];
    });
    expect(configured?.sort()).toEqual([
      ['cleanup.policy', 'delete', 1],
      ['compression.type', 'producer', 1],
    ]);
  });

  test.each(['gzip', 'snappy', 'lz4', 'zstd'])(
    'records of a topic that the broker compresses with %s are read',
    async (codec) => {
      await create(1, { 'compression.type': codec });
      const bus = open();
      await start(bus, 1);
      const seen = consume(bus);
      // Larger than a block of snappy (32 kB) and of lz4 (64 kB), with repetitions that span blocks.
      const values = [
        'a',
        'x'.repeat(100_000),
        Array.from({ length: 20_000 }, (_, i) => (i * 7_919) % 10_007).join(),
        randomBytes(200_000).toString('base64'),
      ];
      await publish(bus, 0, ...values);
      await waitUntil(() => seen.length === values.length, { what: 'all records' });
      expect(seen).toEqual(values);
    },
  );

  test('a consumer that cannot read a batch has not joined, and fails with the topic and its setting', async () => {
    await create(1, { 'compression.type': 'zstd' });
    const bus = open();
    await start(bus, 1);
    const { CompressionCodecs, CompressionTypes } = kafkajs;
    const readable = CompressionCodecs[CompressionTypes.ZSTD];
    const seen: string[] = [];
    let joined = 0;
    const onBatch = async (records: readonly Parameters<typeof text>[0][]) => void seen.push(...records.map(text));
    const run = (signal: AbortSignal) =>
      bus.consume({ topic, group: topic, onBatch, onJoined: () => joined++ }, signal);
    CompressionCodecs[CompressionTypes.ZSTD] = unsupported;
    try {
      await publish(bus, 0, 'a');
      await expect(run(never)).rejects.toThrow(
        `cannot read a batch of topic ${topic}: ZSTD compression not implemented; set compression.type=producer on the topic`,
      );
      expect({ seen, joined }).toEqual({ seen: [], joined: 0 });
    } finally {
      CompressionCodecs[CompressionTypes.ZSTD] = readable;
    }
    const abort = new AbortController();
    consumers.push({ abort, ended: run(abort.signal) });
    await waitUntil(() => joined === 1 && seen.length === 1, { what: 'the record' });
  });

  test('a missing topic or right is named, and used once an operator provides it', async () => {
    const bus = openRestricted();
    const starting = start(bus, 2);
    const isLogged = (message: string) => () => logged().some(({ err }) => err?.message.includes(message));
    await waitUntil(isLogged(`the Kafka user may not use topic ${topic}; grant it READ and WRITE`), {
      what: 'the missing rights',
    });
    await grant(topic, AclResourceTypes.TOPIC, AclOperationTypes.READ, AclOperationTypes.WRITE);
    await waitUntil(
      isLogged(
        `cannot create topic ${topic} with 2 partitions and 1 replicas: the Kafka user lacks the right CREATE; grant it, or ` +
          'create the topic',
      ),
      { what: 'the missing topic' },
    );
    await create(2);
    await starting;
    await publish(bus, 0, 'a');
    const messages = logged().map(({ err }) => err?.message);
    expect(new Set(messages).size).toBe(messages.length);
  });

  test('a topic that is deleted while it is used is created again, with the right number of partitions', async () => {
    const bus = open();
    await start(bus, 3);
    const seen = consume(bus);
    await publish(bus, 2, 'before');
    await waitUntil(() => seen.includes('before'), { what: 'the first record' });
    await remove();
    await publish(bus, 2, 'after');
    await waitUntil(() => seen.includes('after'), { what: 'a record after the deletion' });
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    expect(topics[0]?.partitions).toHaveLength(3);
  });

  test('a partition that the topic has lost is never acknowledged, and the log says why', async () => {
    const bus = open();
    await start(bus, 3);
    await publish(bus, 2, 'before');
    await remove();
    await create(1);
    const stop = new AbortController();
    const publishing = [1, 2].map((partition) =>
      bus.publish({ topic, partition, records: [record('a')] }, stop.signal).then(
        () => 'acknowledged',
        () => 'rejected',
      ),
    );
    await publish(bus, 0, 'b');
    const reasons = () =>
      logged().filter(({ err }) => err?.message.includes('has 1 partitions, but EVENT_PARTITIONS is 3'));
    await waitUntil(() => reasons().length > 0, { what: 'the reason' });
    stop.abort();
    expect(await Promise.all(publishing)).toEqual(['rejected', 'rejected']);
    expect(reasons()).toHaveLength(1);
    await remove();
    await create(3);
    await publish(bus, 2, 'd');
  });

  test('a batch above the limit of the topic is published in parts, in order; a single record names the limit', async () => {
    await create(1, { 'max.message.bytes': '10000' });
    const bus = open();
    await start(bus, 1);
    const seen = consume(bus);
    const values = Array.from({ length: 40 }, (_, i) => `${i}:${'x'.repeat(1_000)}`);
    await publish(bus, 0, ...values);
    await waitUntil(() => seen.length >= 40, { what: 'all records' });
    expect(seen).toEqual(values);
    await expect(publish(bus, 0, 'x'.repeat(20_000))).rejects.toThrow(
      `a record of 20000 bytes in partition 0 exceeds the limit of the broker; increase max.message.bytes of topic ${topic}`,
    );
  });

  test('records that were deleted before they were consumed are reported', async () => {
    const bus = open();
    await start(bus, 1);
    const first = consume(bus);
    await publish(bus, 0, 'a');
    await waitUntil(async () => first.length === 1 && (await bus.lag(topic, topic))[0]?.records === 0, {
      what: 'the first record',
    });
    for (const { abort } of consumers) abort.abort();
    await Promise.all(consumers.map(({ ended }) => ended));
    await publish(bus, 0, 'b', 'c', 'd');
    // The deletion needs the leaders, which this call reads.
    await admin.fetchTopicOffsets(topic);
    // As the topic's retention does.
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '3' }] });
    const seen = consume(bus);
    await waitUntil(() => seen.includes('d'), { what: 'the remaining record' });
    expect(seen).toEqual(['d']);
    expect(logged()).toMatchObject([
      {
        level: 'error',
        msg: 'records were deleted before the group consumed them; continuing with the oldest record of the partition',
        topic,
        partition: 0,
        group: topic,
      },
    ]);
  });
});
