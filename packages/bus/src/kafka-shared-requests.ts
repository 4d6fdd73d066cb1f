import { coalesce } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import type { Producer } from 'kafkajs';
import type { PublishBatch } from './event-bus.ts';
import type { Leaders } from './kafka-leaders.ts';
import { ackAll, checkAcknowledged, toMessages } from './kafka-messages.ts';

export interface SharedRequestParts {
  /** Producer that attempts each send once: see docs/adr/0020. */
  readonly once: Pick<Producer, 'sendBatch'>;
  readonly leaders: Leaders;
  readonly log: Logger;
}

/** Reports that a request shared by several batches failed. The batch may not be durable: send it alone. */
export class SharedRequestError extends Error {}

/**
 * Combines batches that are sent in one turn of the event loop and have the same leader into one request. `alone` sends
 * the only batch of a leader.
 *
 * @throws SharedRequestError
 */
export function createSharedRequests(
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
