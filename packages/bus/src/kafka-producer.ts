import { abortableDelay, type Logger } from '@rms/service';
import type { Producer } from 'kafkajs';
import { untilAborted, withDeadline } from './abort.ts';
import type { PublishBatch } from './event-bus.ts';

const publishTimeoutMs = 30_000;
/** How long the brokers may take to copy a batch; shorter than the request's timeout. */
const copyTimeoutMs = 8_000;
const retryMs = 100;

/**
 * publish() on kafkajs, under the rules that keep acknowledged records safe (docs/adr/0004): a send holds one partition,
 * and a partition has one send under way. kafkajs cannot call a send back, so one that the caller has given up keeps its
 * partition until it has ended.
 *
 * A send retries by itself for some seconds. Then it is begun anew: within a send kafkajs goes on asking a broker that
 * no longer leads the partition.
 */
export function createKafkaPublish(producer: Producer, log: Logger) {
  const underWay = new Map<string, Promise<unknown>>();

  const send = async ({ topic, partition, records }: PublishBatch) => {
    const messages = records.map(({ key, value, headers }) => ({
      key,
      value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
      headers: { ...headers },
      partition,
    }));
    await producer.send({ topic, acks: -1, timeout: copyTimeoutMs, messages });
  };

  const inTurn = async (batch: PublishBatch, signal: AbortSignal) => {
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
    try {
      for (;;) {
        try {
          return await inTurn(batch, signal);
        } catch (err) {
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
