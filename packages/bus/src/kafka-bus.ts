import type { Logger } from '@rms/service';
import { type Consumer, type EachBatchPayload, Kafka, logLevel, type Producer } from 'kafkajs';
import type { ConsumedRecord, EventBus, Subscription } from './event-bus.ts';
import { whenAborted } from './when-aborted.ts';

export interface KafkaBusOptions {
  /** "host:port" each. */
  readonly brokers: readonly string[];
  readonly clientId: string;
  readonly log: Logger;
}

/** A dead broker is waited out: about a minute of tries, each at most two seconds after the last. */
const retry = { initialRetryTime: 200, maxRetryTime: 2_000, retries: 30 };
const partitionsAtOnce = 12;
/** A consumer that has not heard from its group for so long is replaced. */
const stallMs = 30_000;

/** Kafka, by kafkajs under the three rules of docs/adr/0004. The third, a new consumer for one that ended, is the supervisor's. */
export function createKafkaBus({ brokers, clientId, log }: KafkaBusOptions): EventBus {
  const kafka = new Kafka({
    brokers: [...brokers],
    clientId,
    retry,
    connectionTimeout: 3_000,
    requestTimeout: 10_000,
    logLevel: logLevel.WARN,
    // Its warnings are about tries that follow; what fails for good is thrown.
    logCreator: () => (entry) => log.debug({ kafka: entry.log, namespace: entry.namespace }, 'kafka client'),
  });
  const admin = kafka.admin({ retry: { ...retry, retries: 3 } });
  const producer: Producer = kafka.producer({ retry, allowAutoTopicCreation: false, maxInFlightRequests: 64 });
  let connected: Promise<void> | undefined;

  const connect = () => {
    connected ??= producer.connect().catch((error: unknown) => {
      connected = undefined;
      throw error;
    });
    return connected;
  };

  return {
    async start(topics) {
      await admin.connect();
      const existing = new Set(await admin.listTopics());
      const missing = topics.filter(({ topic }) => !existing.has(topic));
      if (missing.length > 0) {
        await admin.createTopics({
          waitForLeaders: true,
          topics: missing.map(({ topic, partitions, replication }) => ({
            topic,
            numPartitions: partitions,
            replicationFactor: replication,
          })),
        });
      }
      await connect();
    },

    async publish({ topic, partition, records }, signal) {
      signal.throwIfAborted();
      await untilAborted(connect(), signal);
      const messages = records.map(({ key, value, headers }) => ({ key, value: toBuffer(value), headers, partition }));
      await untilAborted(producer.send({ topic, acks: -1, timeout: 10_000, messages }), signal);
    },

    async consume(subscription, signal) {
      const consumer = kafka.consumer({
        groupId: subscription.group,
        allowAutoTopicCreation: false,
        // What is there is answered at once; an idle fetch waits so long.
        minBytes: 1,
        maxWaitTimeInMs: 500,
        maxBytesPerPartition: 1024 * 1024,
        sessionTimeout: 10_000,
        heartbeatInterval: 1_000,
        rebalanceTimeout: 15_000,
        // The supervisor makes a new consumer; kafkajs restarts only some of those that crash.
        retry: { ...retry, retries: 5, restartOnFailure: async () => false },
      });
      await runConsumer(consumer, subscription, signal);
    },

    async healthy() {
      try {
        await untilAborted(admin.describeCluster(), AbortSignal.timeout(2_000));
        return true;
      } catch {
        return false;
      }
    },

    async stop() {
      await Promise.allSettled([connected ? producer.disconnect() : undefined, admin.disconnect()]);
    },
  };
}

/** Runs until the signal aborts; throws when the consumer has crashed, stopped or stalled. */
async function runConsumer(consumer: Consumer, subscription: Subscription, signal: AbortSignal): Promise<void> {
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  let heardAtMs = Date.now();
  const heard = () => {
    heardAtMs = Date.now();
  };
  const { CRASH, STOP, HEARTBEAT, GROUP_JOIN, FETCH } = consumer.events;
  consumer.on(CRASH, ({ payload }) => fail(payload.error));
  consumer.on(STOP, () => fail(new Error('the consumer stopped')));
  for (const event of [HEARTBEAT, GROUP_JOIN, FETCH]) consumer.on(event, heard);
  const watch = setInterval(() => {
    if (Date.now() - heardAtMs > stallMs) fail(new Error(`the consumer has been silent for ${stallMs} ms`));
  }, 1_000);
  try {
    await consumer.connect();
    await consumer.subscribe({ topic: subscription.topic, fromBeginning: true });
    await consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: partitionsAtOnce,
      eachBatch: (payload) => handleBatch(payload, consumer, subscription, signal),
    });
    await Promise.race([failed, whenAborted(signal)]);
  } finally {
    clearInterval(watch);
    // Waits for the batches under way.
    await consumer.disconnect().catch(() => {});
  }
}

async function handleBatch(
  { batch, heartbeat, isRunning, isStale }: EachBatchPayload,
  consumer: Consumer,
  { onBatch }: Subscription,
  signal: AbortSignal,
): Promise<void> {
  const { topic, partition, messages } = batch;
  const last = messages.at(-1);
  if (!last || !isRunning() || isStale() || signal.aborted) return;
  const records = messages.map(
    ({ key, value, headers, offset }): ConsumedRecord => ({
      key: key?.toString('utf8') ?? '',
      value: value ?? new Uint8Array(),
      headers: Object.fromEntries(Object.entries(headers ?? {}).map(([name, text]) => [name, String(text ?? '')])),
      partition,
      offset,
    }),
  );
  const beat = setInterval(() => void heartbeat().catch(() => {}), 2_000);
  try {
    await onBatch(records, signal);
  } finally {
    clearInterval(beat);
  }
  await consumer.commitOffsets([{ topic, partition, offset: String(BigInt(last.offset) + 1n) }]);
}

/** The work's answer, or a rejection when the signal aborts first. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const ended = new AbortController();
  try {
    return await Promise.race([
      work,
      whenAborted(signal, ended.signal).then(() => {
        throw signal.reason;
      }),
    ]);
  } finally {
    ended.abort();
  }
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
