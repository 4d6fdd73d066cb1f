import { abortableDelay, untilAborted, waitAtMost } from '@rms/async';
import { Partitioners, type Producer } from 'kafkajs';
import type { EventBus, Topic } from './event-bus.ts';
import { createKafkaClient, type KafkaBusOptions } from './kafka-client.ts';
import { consumeFromKafka } from './kafka-consumer.ts';
import { isMissing, MissingPartitionError } from './kafka-errors.ts';
import { readLag } from './kafka-lag.ts';
import { createLeaders } from './kafka-leaders.ts';
import { createKafkaPublish } from './kafka-producer.ts';
import { ensureTopics, readPartitions } from './kafka-topics.ts';

export type { KafkaBusOptions } from './kafka-client.ts';

/** Maximum time that start() waits for the brokers before it resolves without them. */
const startPatienceMs = 5_000;
const startRetryMs = 1_000;
const healthTimeoutMs = 2_000;
const lagTimeoutMs = 2_000;

/** Creates the Kafka bus on kafkajs, under the rules of docs/adr/0004. */
export function createKafkaBus(options: KafkaBusOptions): EventBus {
  const { log } = options;
  /** Groups with positions that their handler stores. */
  const positioned = new Set<string>();
  const kafka = createKafkaClient(options, (group) => positioned.has(group));
  const admin = kafka.admin();
  const leaders = createLeaders(admin);
  // The partitioner is never called, because each message identifies its partition.
  const settings = { allowAutoTopicCreation: false, createPartitioner: Partitioners.DefaultPartitioner };
  const createProducers = () => ({
    retrying: kafka.producer(settings),
    once: kafka.producer({ ...settings, retry: { retries: 0 } }),
  });
  let producers = createProducers();
  /** The reasons that were logged since Kafka could be used. Each is logged once, not on every retry. */
  const reasons = new Set<string>();
  const report = (err: Error, message: string) => {
    if (!reasons.has(err.message)) log.warn({ err }, message);
    reasons.add(err.message);
  };
  let required: readonly Topic[] = [];
  let isRestoring = false;
  /** Replaces the producers, because a producer keeps the partitions of its topics for five minutes. */
  const replaceProducers = async () => {
    const [previous, next] = [producers, createProducers()];
    await connectAll(next);
    if (!stopped.signal.aborted) producers = next;
    await disconnectAll(stopped.signal.aborted ? next : previous);
  };
  /** Creates topics that were deleted, and reports a topic with a wrong number of partitions. */
  const restoreTopics = async (error: unknown) => {
    if (isRestoring) return;
    isRestoring = true;
    try {
      await ensureTopics(admin, required, log);
      if (error instanceof MissingPartitionError) await replaceProducers();
      reasons.clear();
    } catch (err) {
      report(err as Error, 'a topic of Kafka is not usable');
    } finally {
      isRestoring = false;
    }
  };
  const publish = createKafkaPublish({
    retrying: { send: (record) => producers.retrying.send(record) },
    once: { sendBatch: (batch) => producers.once.sendBatch(batch) },
    leaders,
    onMissing: (error) => void restoreTopics(error),
    log,
  });
  const stopped = new AbortController();
  let ready: Promise<void> | undefined;
  let checking: Promise<boolean> | undefined;

  const open = async (topics: readonly Topic[]) => {
    required = topics;
    for (;;) {
      try {
        await admin.connect();
        await ensureTopics(admin, topics, log);
        await connectAll(producers);
        for (const { topic } of topics) leaders.refresh(topic);
        if (reasons.size > 0) log.info('connected to Kafka');
        reasons.clear();
        return;
      } catch (err) {
        stopped.signal.throwIfAborted();
        report(err as Error, 'cannot use Kafka yet; retrying');
        await abortableDelay(startRetryMs, stopped.signal);
        stopped.signal.throwIfAborted();
      }
    }
  };
  const isReady = (signal: AbortSignal) => {
    stopped.signal.throwIfAborted();
    if (!ready) throw new Error('the bus has not been started');
    return untilAborted(ready, signal);
  };

  return {
    async start(topics) {
      ready ??= open(topics);
      ready.catch(() => {});
      await waitAtMost(ready, startPatienceMs);
    },
    async publish(batch, signal) {
      await isReady(signal);
      await publish(batch, signal);
    },
    async consume(subscription, signal) {
      try {
        await isReady(signal);
      } catch (error) {
        if (signal.aborted) return;
        throw error;
      }
      const { topic, group, positions } = subscription;
      if (positions) positioned.add(group);
      try {
        const partitions = (await readPartitions(admin, [topic])).get(topic)?.length || 1;
        await consumeFromKafka({ kafka, admin, log }, subscription, partitions, signal);
      } catch (error) {
        if (isMissing(error)) void restoreTopics(error);
        throw error;
      }
    },
    async lag(topic, group) {
      await isReady(AbortSignal.timeout(lagTimeoutMs));
      return readLag(admin, topic, group);
    },
    async healthy() {
      // Concurrent callers share one request.
      checking ??= admin
        .describeCluster()
        .then(
          ({ brokers }) => brokers.length > 0,
          () => false,
        )
        .finally(() => {
          checking = undefined;
        });
      return (await waitAtMost(checking, healthTimeoutMs)) ?? false;
    },
    async stop() {
      stopped.abort(new Error('the bus is stopped'));
      await ready?.catch(() => {});
      await Promise.allSettled([disconnectAll(producers), admin.disconnect()]);
    },
  };
}

type Producers = Readonly<Record<'retrying' | 'once', Producer>>;

async function connectAll({ retrying, once }: Producers): Promise<void> {
  await Promise.all([retrying.connect(), once.connect()]);
}

async function disconnectAll({ retrying, once }: Producers): Promise<void> {
  await Promise.allSettled([retrying.disconnect(), once.disconnect()]);
}
