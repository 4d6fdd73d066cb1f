import { abortableDelay } from '@rms/service';
import type { Producer } from 'kafkajs';
import { untilAborted, withDeadline } from './abort.ts';
import type { PublishBatch } from './event-bus.ts';
import { safely, toMessages } from './kafka-messages.ts';
import { createSendTogether, NotTogether, type TogetherParts } from './kafka-together.ts';

const publishTimeoutMs = 30_000;
const retryMs = 100;

export interface PublishParts extends TogetherParts {
  /** Retries by itself for some seconds. */
  readonly retrying: Pick<Producer, 'send'>;
}

/**
 * publish() on kafkajs, under the rules that keep acknowledged records safe (docs/adr/0004 and 0020): a send that retries
 * holds one partition, one that holds several is tried once, and a partition has one send under way. kafkajs cannot call a
 * send back, so one that the caller has given up keeps its partition until it has ended.
 *
 *   batch ──► together with others of its leader ──acknowledged──► safe
 *                 └──failed──► by itself, kafkajs retries for some seconds ──acknowledged──► safe
 *                                   ▲──failed──┘ anew: within a send kafkajs goes on asking a broker that no longer leads
 */
export function createKafkaPublish(parts: PublishParts) {
  const { retrying, log } = parts;
  const underWay = new Map<string, Promise<unknown>>();

  const sendAlone = async (batch: PublishBatch) => {
    await retrying.send({ ...safely, topic: batch.topic, messages: toMessages(batch) });
  };
  const sendTogether = createSendTogether(parts, sendAlone);

  const inTurn = async (batch: PublishBatch, send: typeof sendAlone, signal: AbortSignal) => {
    const place = `${batch.topic}/${batch.partition}`;
    for (let before = underWay.get(place); before; before = underWay.get(place)) {
      await untilAborted(
        before.catch(() => {}),
        signal,
      );
    }
    const sending = send(batch).finally(() => underWay.delete(place));
    underWay.set(place, sending);
    await untilAborted(sending, signal);
  };

  return async (batch: PublishBatch, given: AbortSignal): Promise<void> => {
    const { topic, partition } = batch;
    const { signal, end } = withDeadline(given, publishTimeoutMs, `publishing to ${topic}`);
    let send = sendTogether;
    try {
      for (;;) {
        try {
          return await inTurn(batch, send, signal);
        } catch (err) {
          send = sendAlone;
          if (err instanceof NotTogether) continue;
          if (signal.aborted || !isWorthAnotherTry(err)) throw err;
          log.warn({ err, topic, partition }, 'kafka did not take a batch; it is sent again');
          await abortableDelay(retryMs, signal);
        }
      }
    } finally {
      end();
    }
  };
}

/** A batch that is too large, or not allowed, stays so. */
function isWorthAnotherTry(error: unknown): boolean {
  const { name, retriable, cause } = error as { name?: string; retriable?: boolean; cause?: { retriable?: boolean } };
  return name === 'KafkaJSNumberOfRetriesExceeded' || retriable === true || cause?.retriable === true;
}
