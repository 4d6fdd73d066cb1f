import { abortableDelay, type Logger } from '@rms/service';
import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { ConsumedRecord, Subscription } from './event-bus.ts';
import { handleUntilDone } from './handle-until-done.ts';
import { createPosition, type Position } from './kafka-position.ts';
import { type StallWatch, stallMs, watchForStall } from './kafka-stall-watch.ts';

/** A member that is silent for so long is dead to the group. */
const sessionTimeoutMs = 10_000;
const rebalanceTimeoutMs = 15_000;
const heartbeatMs = 2_000;
/** An empty fetch waits so long at the broker; new records end it at once. stop() waits for it. */
const emptyFetchMs = 500;
/** How long one that has failed may take to leave its group before it is left to itself. */
const leaveTimeoutMs = 5_000;
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
  /** Of its topic: all of them may be handled side by side. */
  partitions: number,
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
  const position = createPosition(log);
  let onAbort = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.GROUP_JOIN, () => subscription.onJoined?.());
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    watch.onStall(() => reject(new Error(`the consumer of group ${group} has stalled for ${stallMs} ms`)));
    onAbort = resolve;
    if (signal.aborted) resolve();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  // It may reject before it is awaited.
  ended.catch(() => {});
  const running = run(consumer, { subscription, partitions, over: over.signal, watch, position, log });
  try {
    await Promise.race([ended, running]);
    await ended;
  } finally {
    over.abort(new Error(`the consumer of group ${group} of ${topic} has stopped`));
    watch.stop();
    signal.removeEventListener('abort', onAbort);
    // One that is told to disconnect while it still joins would join all the same.
    const left = running
      .catch(() => {})
      .then(position.settled)
      .then(() => consumer.disconnect())
      .catch((err: unknown) => log.debug({ err }, 'a kafka consumer did not leave cleanly'));
    await (signal.aborted ? left : atMost(left, leaveTimeoutMs));
  }
}

interface Parts {
  readonly subscription: Subscription;
  readonly partitions: number;
  readonly over: AbortSignal;
  readonly watch: StallWatch;
  readonly position: Position;
  readonly log: Logger;
}

async function run(consumer: Consumer, { subscription, partitions, over, watch, position, log }: Parts): Promise<void> {
  await consumer.connect();
  await consumer.subscribe({ topic: subscription.topic, fromBeginning: true });
  if (over.aborted) return;
  await consumer.run({
    partitionsConsumedConcurrently: partitions,
    autoCommit: false,
    eachBatchAutoResolve: false,
    eachBatch: async (payload) => {
      const handled = watch.handling();
      try {
        await handleBatch(payload, subscription, over, log);
        // The next fetch does not wait for the commit; the end does.
        position.handled(payload);
        if (over.aborted) await position.settled();
      } finally {
        handled();
      }
    },
  });
}

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

/** Waits for something, but not for ever. */
async function atMost(something: Promise<void>, timeoutMs: number): Promise<void> {
  const patience = new AbortController();
  await Promise.race([something, abortableDelay(timeoutMs, patience.signal)]);
  patience.abort();
}
