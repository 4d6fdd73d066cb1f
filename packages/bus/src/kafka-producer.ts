import { abortableDelay, coalesce, untilAborted, withDeadline } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import type { Message, Producer, RecordMetadata } from 'kafkajs';
import { type PublishBatch, publishTimeoutMs } from './event-bus.ts';
import { isMissing, isRetryable, isTooLarge, MissingPartitionError } from './kafka-errors.ts';
import type { Leaders } from './kafka-leaders.ts';

const firstRetryMs = 100;
const maxRetryMs = 5_000;

export interface PublishParts extends SharedRequestParts {
  /** Producer with sends that kafkajs retries for some seconds. */
  readonly retrying: Pick<Producer, 'send'>;
  /** Called when a topic, or one of its partitions, does not exist. */
  readonly onMissing: (error: unknown) => void;
}

/**
 * Implements publish() on kafkajs under the rules that keep acknowledged records safe (docs/adr/0004 and 0020):
 * - A send that kafkajs retries contains one partition.
 * - A send with several partitions is attempted once.
 * - A partition has at most one send in flight. kafkajs cannot cancel a send, so a send that the caller has given up
 *   occupies its partition until it ends.
 *
 *   batch ──► one request with other batches of its leader ──acknowledged──► done
 *                 └──failed──► its own request, which kafkajs retries for some seconds ──acknowledged──► done
 *                                   ▲──failed──┘ new send: kafkajs keeps asking the old leader within one send
 *
 * The broker limits a batch's size. A batch that is too large is halved.
 */
export function createKafkaPublish(parts: PublishParts) {
  const { retrying, onMissing, log } = parts;
  const inFlight = new Map<string, Promise<unknown>>();

  const sendAlone = async (batch: PublishBatch) => {
    const acknowledged = await retrying.send({ ...ackAll, topic: batch.topic, messages: toMessages(batch) });
    checkAcknowledged([batch], acknowledged);
  };
  const sendInSharedRequest = createSharedRequests(parts, sendAlone);

  const inOrder = async (batch: PublishBatch, send: typeof sendAlone, signal: AbortSignal) => {
    const partition = `${batch.topic}/${batch.partition}`;
    for (let before = inFlight.get(partition); before; before = inFlight.get(partition)) {
      await untilAborted(
        before.catch(() => {}),
        signal,
      );
    }
    const sending = send(batch).finally(() => inFlight.delete(partition));
    inFlight.set(partition, sending);
    await untilAborted(sending, signal);
  };

  const publishUntil = async (signal: AbortSignal, batch: PublishBatch, first = sendAlone): Promise<void> => {
    const { topic, partition } = batch;
    let send = first;
    for (let retryMs = firstRetryMs; ; ) {
      try {
        return await inOrder(batch, send, signal);
      } catch (err) {
        send = sendAlone;
        if (err instanceof SharedRequestError) continue;
        if (isMissing(err)) onMissing(err);
        if (signal.aborted) throw err;
        if (isTooLarge(err)) {
          for (const half of halvesOf(batch, err)) await publishUntil(signal, half);
          return;
        }
        if (!isRetryable(err)) throw err;
        log.warn({ err, topic, partition }, 'Kafka rejected a batch; retrying');
        await abortableDelay(retryMs, signal);
        retryMs = Math.min(2 * retryMs, maxRetryMs);
      }
    }
  };

  return async (batch: PublishBatch, given: AbortSignal): Promise<void> => {
    const { signal, end } = withDeadline(given, publishTimeoutMs, `publishing to ${batch.topic}`);
    try {
      await publishUntil(signal, batch, sendInSharedRequest);
    } finally {
      end();
    }
  };
}

/** Splits a batch in two. Throws if it contains only one record. */
function halvesOf(batch: PublishBatch, cause: unknown): PublishBatch[] {
  const { topic, partition, records } = batch;
  const [first] = records;
  if (records.length < 2)
    throw new Error(
      `a record of ${first?.value.length} bytes in partition ${partition} exceeds the limit of the broker; increase ` +
        `max.message.bytes of topic ${topic}`,
      { cause },
    );
  const middle = Math.ceil(records.length / 2);
  return [records.slice(0, middle), records.slice(middle)].map((half) => ({ topic, partition, records: half }));
}

/** Maximum time for the brokers to replicate a batch; shorter than the request timeout. */
const copyTimeoutMs = 8_000;

/** Acknowledges a batch after all in-sync replicas have it. */
const ackAll = { acks: -1, timeout: copyTimeoutMs } as const;

/**
 * Throws unless the partition of each batch was acknowledged. kafkajs ignores messages for a partition that the topic
 * does not have, and reports success.
 */
function checkAcknowledged(batches: readonly PublishBatch[], acknowledged: readonly RecordMetadata[]): void {
  for (const batch of batches) {
    const isAcknowledged = acknowledged.some(
      ({ topicName, partition }) => topicName === batch.topic && partition === batch.partition,
    );
    if (!isAcknowledged) throw new MissingPartitionError(batch);
  }
}

/** Converts a batch's records. The values share the records' memory. */
function toMessages({ partition, records }: PublishBatch): Message[] {
  return records.map(({ key, value, headers }) => ({
    key,
    value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
    headers: { ...headers },
    partition,
  }));
}

interface SharedRequestParts {
  /** Producer that attempts each send once: see docs/adr/0020. */
  readonly once: Pick<Producer, 'sendBatch'>;
  readonly leaders: Leaders;
  readonly log: Logger;
}

/** Reports that a request shared by several batches failed. The batch may not be durable: send it alone. */
class SharedRequestError extends Error {}

/**
 * Combines batches that are sent in one turn of the event loop and have the same leader into one request. `alone` sends
 * the only batch of a leader.
 *
 * @throws SharedRequestError
 */
function createSharedRequests(
  { once, leaders, log }: SharedRequestParts,
  alone: (batch: PublishBatch) => Promise<void>,
): (batch: PublishBatch) => Promise<void> {
  const sendGroup = async (group: readonly PublishBatch[]) => {
    const [first] = group;
    if (first && group.length === 1) return alone(first);
    try {
      const acknowledged = await once.sendBatch({
        ...ackAll,
        topicMessages: group.map((batch) => ({ topic: batch.topic, messages: toMessages(batch) })),
      });
      checkAcknowledged(group, acknowledged);
    } catch (err) {
      const partitions = group.map(({ partition }) => partition);
      log.warn({ err, topic: first?.topic, partitions }, 'Kafka rejected a combined request; sending each batch alone');
      for (const topic of new Set(group.map((batch) => batch.topic))) leaders.refresh(topic);
      throw new SharedRequestError('the combined request failed', { cause: err });
    }
  };

  const gather = coalesce(
    async (batches: PublishBatch[]) => {
      // A batch with an unknown leader is sent alone.
      const led = batches.map((batch) => leaders.of(batch) ?? batch);
      const leading = [...new Set(led)];
      const sent = new Map(leading.map((one) => [one, sendGroup(batches.filter((_, i) => led[i] === one))]));
      return led.map((one) => ({ done: sent.get(one) }));
    },
    { maxInFlight: Number.POSITIVE_INFINITY, maxBatch: Number.POSITIVE_INFINITY },
  );
  return async (batch) => (await gather(batch)).done;
}
