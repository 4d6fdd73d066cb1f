import { coalesce } from '@rms/rpc';
import type { Logger } from '@rms/service';
import type { Producer } from 'kafkajs';
import type { PublishBatch } from './event-bus.ts';
import type { Leaders } from './kafka-leaders.ts';
import { safely, toMessages } from './kafka-messages.ts';

export interface TogetherParts {
  /** Tries once and no more: see docs/adr/0020. */
  readonly once: Pick<Producer, 'sendBatch'>;
  readonly leaders: Leaders;
  readonly log: Logger;
}

/** Why a batch may not be safe: it shared a request that has failed, and has to be sent by itself. */
export class NotTogether extends Error {}

/**
 * Batches that are sent in one turn of the event loop, of partitions with the same leader, travel in one request. `alone`
 * sends one that has no company.
 *
 * @throws NotTogether
 */
export function createSendTogether(
  { once, leaders, log }: TogetherParts,
  alone: (batch: PublishBatch) => Promise<void>,
): (batch: PublishBatch) => Promise<void> {
  const sendGroup = async (group: readonly PublishBatch[]) => {
    const [first] = group;
    if (first && group.length === 1) return alone(first);
    try {
      await once.sendBatch({
        ...safely,
        topicMessages: group.map((batch) => ({ topic: batch.topic, messages: toMessages(batch) })),
      });
    } catch (err) {
      const partitions = group.map(({ partition }) => partition);
      log.warn({ err, topic: first?.topic, partitions }, 'kafka did not take batches together; each is sent by itself');
      for (const topic of new Set(group.map((batch) => batch.topic))) leaders.refresh(topic);
      throw new NotTogether('batches were not taken together', { cause: err });
    }
  };

  const gather = coalesce(
    async (batches: PublishBatch[]) => {
      // A batch of which no leader is known is a group of its own.
      const led = batches.map((batch) => leaders.of(batch) ?? batch);
      const leading = [...new Set(led)];
      const sent = new Map(leading.map((one) => [one, sendGroup(batches.filter((_, i) => led[i] === one))]));
      return led.map((one) => ({ done: sent.get(one) }));
    },
    { maxInFlight: Number.POSITIVE_INFINITY, maxBatch: Number.POSITIVE_INFINITY },
  );
  return async (batch) => (await gather(batch)).done;
}
