import { coalesce, waitAtMost } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import type { Admin, Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { type ConsumedRecord, handleUntilDone, RewoundError, type Subscription } from './event-bus.ts';
import { isUnreadable } from './kafka-errors.ts';
import { createPositions, type Positions } from './kafka-positions.ts';
import { type StallWatch, watchForStall } from './kafka-stall-watch.ts';

/** The group removes a member that sends no heartbeat for this long. */
const sessionTimeoutMs = 10_000;
const rebalanceTimeoutMs = 15_000;
const heartbeatMs = 2_000;
/** Maximum time that the broker holds an empty fetch; new records end it immediately. stop() waits for it. */
const emptyFetchMs = 500;
/** Maximum time for a failed consumer to leave its group; after it, the consumer is abandoned. */
const leaveTimeoutMs = 5_000;
/** Heartbeat errors which mean that the partitions are lost. */
const lostPartition = new Set(['REBALANCE_IN_PROGRESS', 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION']);

export interface ConsumerParts {
  readonly kafka: Kafka;
  readonly admin: Admin;
  readonly log: Logger;
}

/**
 * Runs one kafkajs consumer until the signal aborts. Restarts by kafkajs are disabled: if the consumer fails or stalls,
 * this function throws, and the supervisor starts a new consumer.
 *
 *   joining ──► fetching ⇄ handling ──signal──► leaving ──► resolved
 *                  └──crashed, no activity for 20 s, or clock set back──► thrown
 */
export async function consumeFromKafka(
  { kafka, admin, log }: ConsumerParts,
  subscription: Subscription,
  /** Number of partitions of the topic; all of them may be handled concurrently. */
  partitions: number,
  signal: AbortSignal,
): Promise<void> {
  const { group, topic, positions: store } = subscription;
  const consumer = kafka.consumer({
    groupId: group,
    sessionTimeout: sessionTimeoutMs,
    rebalanceTimeout: rebalanceTimeoutMs,
    heartbeatInterval: heartbeatMs,
    minBytes: 1,
    maxWaitTimeInMs: emptyFetchMs,
    // The broker would create a deleted topic with its default number of partitions.
    allowAutoTopicCreation: false,
    retry: { initialRetryTime: 200, maxRetryTime: 2_000, retries: 5, restartOnFailure: async () => false },
  });
  // Aborts with `signal` and when the consumer fails. A running handler then stops, and its batch is delivered again.
  const over = new AbortController();
  const watch = watchForStall(consumer);
  const joined = whenJoined(consumer, store ? ['fetched', 'placed'] : ['fetched'], () => subscription.onJoined?.());
  const positions =
    store &&
    createPositions({ consumer, admin, topic, group, store, over: over.signal, onPlaced: () => joined('placed'), log });
  const commits = createCommits(log, (partition) => positions?.metadataOf(partition) ?? null);
  let onAbort = () => {};
  const ended = new Promise<void>((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload: { error } }) => reject(explain(error, topic)));
    watch.onStall((reason) => reject(new Error(`the consumer of group ${group} must be replaced: ${reason}`)));
    onAbort = resolve;
    if (signal.aborted) resolve();
    signal.addEventListener('abort', onAbort, { once: true });
  });
  onFetched(consumer, () => joined('fetched'));
  // Avoids an unhandled rejection if `ended` rejects before it is awaited.
  ended.catch(() => {});
  const running = run(consumer, { subscription, partitions, over: over.signal, watch, positions, commits, log });
  try {
    await Promise.race([ended, running]);
    await ended;
  } finally {
    over.abort(new Error(`the consumer of group ${group} of ${topic} has stopped`));
    watch.stop();
    signal.removeEventListener('abort', onAbort);
    // A consumer that disconnects while it is joining would still join, so wait for `running` first.
    const stopped = running
      .catch(() => {})
      .then(commits.settled)
      .then(() => consumer.disconnect())
      .catch((err: unknown) => log.debug({ err }, 'a Kafka consumer failed to disconnect'));
    await (signal.aborted ? stopped : waitAtMost(stopped, leaveTimeoutMs));
  }
}

type JoinStep = 'fetched' | 'placed';

/** Calls the listener once after each join, when the returned function was called for every step. */
function whenJoined(consumer: Consumer, steps: readonly JoinStep[], listener: () => void): (step: JoinStep) => void {
  let missing = new Set<JoinStep>();
  consumer.on(consumer.events.GROUP_JOIN, () => {
    missing = new Set(steps);
  });
  return (step) => {
    if (missing.delete(step) && missing.size === 0) listener();
  };
}

/** Calls the listener once after each join, when the first fetch from every broker has succeeded. */
function onFetched(consumer: Consumer, listener: () => void): void {
  const { GROUP_JOIN, FETCH_START, FETCH } = consumer.events;
  /** Brokers with their first fetch in flight; undefined when the listener was called. */
  let awaited: Set<number> | undefined;
  consumer.on(GROUP_JOIN, () => {
    awaited = new Set();
  });
  // The first fetches from all brokers start together.
  consumer.on(FETCH_START, ({ payload }) => void awaited?.add(payload.nodeId));
  consumer.on(FETCH, ({ payload }) => {
    if (!awaited?.delete(payload.nodeId) || awaited.size > 0) return;
    awaited = undefined;
    listener();
  });
}

/** Adds the topic and its setting to the error for a batch that cannot be read. */
function explain(error: Error, topic: string): Error {
  if (!isUnreadable(error)) return error;
  const advice = 'set compression.type=producer on the topic, and delete the stored batch';
  return new Error(`cannot read a batch of topic ${topic}: ${error.message}; ${advice}`, { cause: error });
}

interface Parts {
  readonly subscription: Subscription;
  readonly partitions: number;
  readonly over: AbortSignal;
  readonly watch: StallWatch;
  readonly positions: Positions | undefined;
  readonly commits: Commits;
  readonly log: Logger;
}

async function run(consumer: Consumer, parts: Parts): Promise<void> {
  const { subscription, partitions, over, watch, commits } = parts;
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
        await handleBatch(payload, parts);
        // The next fetch does not wait for the commit; the shutdown does.
        commits.handled(payload);
        if (over.aborted) await commits.settled();
      } finally {
        handled();
      }
    },
  });
}

async function handleBatch(payload: EachBatchPayload, parts: Parts): Promise<void> {
  const { batch, resolveOffset, heartbeat } = payload;
  const { over } = parts;
  const lost = new AbortController();
  const end = () => lost.abort(over.reason);
  if (over.aborted) end();
  over.addEventListener('abort', end, { once: true });
  // Without heartbeats the group would remove the member during a slow handler. A rejected heartbeat can mean that the
  // partition is lost.
  const pulse = setInterval(() => {
    heartbeat().catch((error: { type?: string }) => {
      if (lostPartition.has(error.type ?? '')) lost.abort(error);
    });
  }, heartbeatMs);
  try {
    if (await handleRecords(payload, parts, lost.signal)) resolveOffset(batch.lastOffset());
  } catch (error) {
    // kafkajs rejoins the group when it receives its own error.
    throw lost.signal.aborted ? lost.signal.reason : error;
  } finally {
    clearInterval(pulse);
    over.removeEventListener('abort', end);
  }
}

/** Returns whether the records are handled; if not, the consumer reads elsewhere. */
async function handleRecords(
  { batch, isStale }: EachBatchPayload,
  { subscription, positions, log }: Parts,
  signal: AbortSignal,
): Promise<boolean> {
  const { partition } = batch;
  const records = batch.messages.map(toRecord(partition));
  if (!positions) {
    await handleUntilDone(subscription, records, signal, log);
    return true;
  }
  // kafkajs does not declare it.
  const { fetchedOffset } = batch as unknown as { readonly fetchedOffset: string };
  const offsets = { fetched: BigInt(fetchedOffset), lastOffset: BigInt(batch.lastOffset()) };
  const entered = await positions.enter({ partition, ...offsets, records, isStale }, signal);
  if (!entered) return false;
  try {
    if (entered.records.length > 0) {
      await handleUntilDone(subscription, entered.records, signal, log, entered.range);
    }
  } catch (error) {
    if (!(error instanceof RewoundError)) throw error;
    await positions.rewind(partition, signal);
    return false;
  }
  entered.handled();
  return true;
}

function toRecord(partition: number) {
  return (message: EachBatchPayload['batch']['messages'][number]): ConsumedRecord => ({
    key: message.key?.toString() ?? '',
    value: message.value ?? new Uint8Array(),
    // Decoded only for the records with headers that are read: of traces and of dead letters.
    get headers() {
      return Object.fromEntries(Object.entries(message.headers ?? {}).map(([name, value]) => [name, String(value)]));
    },
    partition,
    offset: message.offset,
  });
}

type Handled = Pick<EachBatchPayload, 'commitOffsetsIfNecessary' | 'uncommittedOffsets'>;

/** Commits the group's offsets. */
interface Commits {
  /** Schedules a commit of everything that has been handled. */
  handled(payload: Handled): void;
  /** Commits pending offsets immediately; resolves when no commit is in flight. */
  settled(): Promise<void>;
}

/** Interval between commits, and the upper bound of the work that is redelivered after a crash. */
const togetherMs = 100;

/**
 * Sends one commit at a time, independently of the handlers: a busy group commits ten times a second, regardless of the
 * number of batches. A failed commit is not retried: a later commit covers it, or the records are delivered again.
 * @param metadata returns the text that is committed with a partition's offset
 */
function createCommits(log: Logger, metadata: (partition: number) => string | null): Commits {
  let waiting: Handled | undefined;
  let timer: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  const send = coalesce(async (payloads: Handled[]) => {
    const { commitOffsetsIfNecessary, uncommittedOffsets } = payloads.at(-1) as Handled;
    const topics = uncommittedOffsets().topics.map(({ topic, partitions }) => ({
      topic,
      // The partitions of kafkajs are strings here.
      partitions: partitions.map((offset) => ({ ...offset, metadata: metadata(Number(offset.partition)) })),
    }));
    await commitOffsetsIfNecessary({ topics }).catch((err: unknown) => log.debug({ err }, 'offset commit failed'));
    return payloads.map(() => undefined);
  });
  const commit = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting) last = send(waiting).catch(() => {});
    waiting = undefined;
  };
  return {
    handled(payload) {
      waiting = payload;
      timer ??= setTimeout(commit, togetherMs);
    },
    settled() {
      commit();
      return last;
    },
  };
}
