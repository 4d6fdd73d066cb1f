import type { Logger } from '@rms/service';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { ConsumedRecord, Subscription } from './event-bus.ts';
import { handleUntilDone } from './handle-until-done.ts';

/** A member that is silent for so long is dead to the group. */
const sessionTimeoutMs = 10_000;
const rebalanceTimeoutMs = 15_000;
const heartbeatMs = 2_000;
/** An empty fetch waits so long at the broker; new records end it at once. stop() waits for it. */
const emptyFetchMs = 500;
/** A consumer that has neither fetched nor been handling a batch for so long is taken for stuck. */
const stallMs = 20_000;
const watchMs = 1_000;
/** How long a consumer may take to leave its group before it is left to itself. */
const leaveTimeoutMs = 5_000;
const partitionsAtOnce = 64;
/** Answers to a heartbeat that take the partitions away. */
const lostPartition = new Set(['REBALANCE_IN_PROGRESS', 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION']);

/**
 * Runs one kafkajs consumer until the signal aborts. kafkajs' own restarts are off: whatever ends or stalls the consumer
 * is thrown, and the supervisor begins with a new one.
 *
 *   joining ──► fetching ⇄ handling ──signal──► leaving ──► resolved
 *                  └──crashed, or silent for 20 s──► thrown
 */
export async function consumeFromKafka(
  kafka: Kafka,
  subscription: Subscription,
  signal: AbortSignal,
  log: Logger,
): Promise<void> {
  const { group, topic } = subscription;
  const consumer = kafka.consumer({
    groupId: group,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: rebalanceTimeoutMs,
    heartbeatInterval: heartbeatMs,
    minBytes: 1,
    maxWaitTimeInMs: emptyFetchMs,
    retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: 5, restartOnFailure: async () => false },
  });
  // Aborts with `signal`, and when the consumer is given up: a handler under way then knows that its batch comes again.
  const over = new AbortController();
  const watch = watchForStall(consumer);
  let onAbort = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    watch.onStall(() => reject(new Error(`the consumer of group ${group} has stalled for ${stallMs} ms`)));
    onAbort = resolve;
    if (signal.aborted) resolve();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  // It may reject before it is awaited.
  ended.catch(() => {});
  try {
    await Promise.race([ended, run(consumer, subscription, over.signal, watch, log)]);
    await ended;
  } finally {
    over.abort(new Error(`the consumer of group ${group} of ${topic} has stopped`));
    watch.stop();
    signal.removeEventListener('abort', onAbort);
    await leave(consumer, signal.aborted, log);
  }
}

async function run(consumer: Consumer, subscription: Subscription, over: AbortSignal, watch: StallWatch, log: Logger) {
  await consumer.connect();
  await consumer.subscribe({ topic: subscription.topic, fromBeginning: true });
  await consumer.run({
    partitionsConsumedConcurrently: partitionsAtOnce,
    eachBatchAutoResolve: false,
    eachBatch: async (payload) => {
      const handled = watch.handling();
      try {
        await handleBatch(payload, subscription, over, log);
      } finally {
        handled();
      }
    },
  });
}

/** kafkajs commits the position after this has resolved. */
async function handleBatch(
  { batch, resolveOffset, heartbeat }: EachBatchPayload,
  subscription: Subscription,
  over: AbortSignal,
  log: Logger,
): Promise<void> {
  const lost = new AbortController();
  const end = () => lost.abort(over.reason);
  if (over.aborted) end();
  over.addEventListener('abort', end, { once: true });
  // Without a heartbeat the group would take a slow handler for dead. A refused one says that the partition is lost.
  const pulse = setInterval(() => {
    heartbeat().catch((error: { type?: string }) => {
      if (lostPartition.has(error.type ?? '')) lost.abort(error);
    });
  }, heartbeatMs);
  try {
    await handleUntilDone(subscription, batch.messages.map(toRecord(batch.partition)), lost.signal, log);
    resolveOffset(batch.lastOffset());
  } catch (error) {
    // kafkajs joins the group again when it sees its own error.
    throw lost.signal.aborted ? lost.signal.reason : error;
  } finally {
    clearInterval(pulse);
    over.removeEventListener('abort', end);
  }
}

function toRecord(partition: number) {
  return (message: EachBatchPayload['batch']['messages'][number]): ConsumedRecord => ({
    key: message.key?.toString() ?? '',
    value: message.value ?? new Uint8Array(),
    headers: Object.fromEntries(Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)])),
    partition,
    offset: message.offset,
  });
}

async function leave(consumer: Consumer, inPeace: boolean, log: Logger): Promise<void> {
  const left = consumer
    .disconnect()
    .catch((err: unknown) => log.debug({ err }, 'a kafka consumer did not leave cleanly'));
  if (inPeace) return left;
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([left, new Promise((resolve) => (timer = setTimeout(resolve, leaveTimeoutMs)))]);
  clearTimeout(timer);
}

interface StallWatch {
  /** A batch is being handled, which may take its time; the function that it returns ends that. */
  handling(): () => void;
  onStall(listener: () => void): void;
  stop(): void;
}

function watchForStall(consumer: Consumer): StallWatch {
  let lastSignAtMs = performance.now();
  let handling = 0;
  let onStall = () => {};
  const sign = () => {
    lastSignAtMs = performance.now();
  };
  consumer.on(consumer.events.FETCH, sign);
  consumer.on(consumer.events.GROUP_JOIN, sign);
  const timer = setInterval(() => {
    if (handling > 0) sign();
    else if (performance.now() - lastSignAtMs > stallMs) onStall();
  }, watchMs);
  return {
    handling() {
      handling += 1;
      return () => {
        handling -= 1;
      };
    },
    onStall(listener) {
      onStall = listener;
    },
    stop: () => clearInterval(timer),
  };
}
