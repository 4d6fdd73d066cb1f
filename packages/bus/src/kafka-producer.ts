import { abortableDelay, untilAborted, withDeadline } from '@rms/async';
import type { Producer } from 'kafkajs';
import type { PublishBatch } from './event-bus.ts';
import { ackAll, toMessages } from './kafka-messages.ts';
import { createSharedRequests, SharedRequestError, type SharedRequestParts } from './kafka-shared-requests.ts';

const publishTimeoutMs = 30_000;
const retryMs = 100;

export interface PublishParts extends SharedRequestParts {
  /** Producer whose sends kafkajs retries for some seconds. */
  readonly retrying: Pick<Producer, 'send'>;
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
 */
export function createKafkaPublish(parts: PublishParts) {
  const { retrying, log } = parts;
  const inFlight = new Map<string, Promise<unknown>>();

  const sendAlone = async (batch: PublishBatch) => {
    await retrying.send({ ...ackAll, topic: batch.topic, messages: toMessages(batch) });
  };
  const sendInSharedRequest = createSharedRequests(parts, sendAlone);

  const inTurn = async (batch: PublishBatch, send: typeof sendAlone, signal: AbortSignal) => {
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

  return async (batch: PublishBatch, given: AbortSignal): Promise<void> => {
    const { topic, partition } = batch;
    const { signal, end } = withDeadline(given, publishTimeoutMs, `publishing to ${topic}`);
    let send = sendInSharedRequest;
    try {
      for (;;) {
        try {
          return await inTurn(batch, send, signal);
        } catch (err) {
          send = sendAlone;
          if (err instanceof SharedRequestError) continue;
          if (signal.aborted || !isRetryable(err)) throw err;
          log.warn({ err, topic, partition }, 'Kafka rejected a batch; retrying');
          await abortableDelay(retryMs, signal);
        }
      }
    } finally {
      end();
    }
  };
}

/** Returns false for a batch that is too large or not allowed: a retry would fail again. */
function isRetryable(error: unknown): boolean {
  const { name, retriable, cause } = error as { name?: string; retriable?: boolean; cause?: { retriable?: boolean } };
  return name === 'KafkaJSNumberOfRetriesExceeded' || retriable === true || cause?.retriable === true;
}
