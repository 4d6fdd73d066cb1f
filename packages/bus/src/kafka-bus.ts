import { abortableDelay, untilAborted, waitAtMost } from '@rms/async';
import { Partitioners } from 'kafkajs';
import type { EventBus, Topic } from './event-bus.ts';
import { createKafkaClient, type KafkaBusOptions } from './kafka-client.ts';
import { consumeFromKafka } from './kafka-consumer.ts';
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
  const kafka = createKafkaClient(options);
  const admin = kafka.admin();
  const leaders = createLeaders(admin);
  // The partitioner is never called, because each message names its partition.
  const settings = { allowAutoTopicCreation: false, createPartitioner: Partitioners.DefaultPartitioner };
  const [retrying, once] = [kafka.producer(settings), kafka.producer({ ...settings, retry: { retries: 0 } })];
  const publish = createKafkaPublish({ retrying, once, leaders, log });
  const stopped = new AbortController();
  let ready: Promise<void> | undefined;
  let checking: Promise<boolean> | undefined;

  const open = async (topics: readonly Topic[]) => {
    const reasons = new Set<string>();
    for (;;) {
      try {
        await admin.connect();
        await ensureTopics(admin, topics);
        await Promise.all([retrying.connect(), once.connect()]);
        for (const { topic } of topics) leaders.refresh(topic);
        if (reasons.size > 0) log.info('connected to Kafka');
        return;
      } catch (err) {
        stopped.signal.throwIfAborted();
        // Log each distinct reason once, not on every retry.
        const { message } = err as Error;
        if (!reasons.has(message)) log.warn({ err }, 'cannot use Kafka yet; retrying');
        reasons.add(message);
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
      const { topic } = subscription;
      const partitions = (await readPartitions(admin, [topic])).get(topic)?.length || 1;
      await consumeFromKafka(kafka, subscription, partitions, signal, log);
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
      await Promise.allSettled([retrying.disconnect(), once.disconnect(), admin.disconnect()]);
    },
  };
}
