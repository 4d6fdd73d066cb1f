import type { BusRecord, EventBus } from '@rms/bus';
import type { Logger } from '@rms/service';
import type { WebhooksMetrics } from '../metrics.ts';
import type { DeadLetter } from './decode.ts';

export interface DeadLetterParts {
  readonly bus: EventBus;
  /** Where dead letters go; has one partition. */
  readonly topic: string;
  /** Where they come from. */
  readonly source: string;
  readonly metrics: Pick<WebhooksMetrics, 'deadLetters'>;
  readonly log: Logger;
}

/** Well below what Kafka takes at once, 1 MB. */
const batchBytes = 512 * 1024;
const valueLimit = 768 * 1024;
const headersLimit = 64 * 1024;
const detailLimit = 500;

/**
 * Puts records aside as they are, with headers that tell why and where each was; at least once. Resolves when they are
 * safe; rejects if they may not be, and then nothing is counted.
 */
export function createDeadLetters({ bus, topic, source, metrics, log }: DeadLetterParts) {
  return async (letters: readonly DeadLetter[], signal: AbortSignal): Promise<void> => {
    for (const batch of batchesOf(letters)) {
      const records = batch.map((letter) => toRecord(letter, source, new Date()));
      await bus.publish({ topic, partition: 0, records }, signal);
      for (const { record, reason, detail } of batch) {
        const { partition, offset, headers } = record;
        metrics.deadLetters.inc({ reason });
        log.error(
          { reason, detail, topic: source, partition, offset, request_id: headers['x-request-id'] },
          'a record cannot be used; it is on the dead-letter topic',
        );
      }
    }
  };
}

/** A record that is so large that Kafka would refuse it with further headers loses its end, or its own headers. */
function toRecord({ record, reason, detail }: DeadLetter, source: string, at: Date): BusRecord {
  const { key, value, headers, partition, offset } = record;
  const ownBytes = Object.entries({ ...headers, key }).reduce((sum, pair) => sum + Buffer.byteLength(pair.join('')), 0);
  const isCut = value.length > valueLimit || ownBytes > headersLimit;
  return {
    key: ownBytes > headersLimit ? '' : key,
    value: value.subarray(0, valueLimit),
    headers: {
      ...(ownBytes > headersLimit ? {} : headers),
      'dead-letter-reason': reason,
      'dead-letter-detail': detail.slice(0, detailLimit),
      'dead-letter-topic': source,
      'dead-letter-partition': `${partition}`,
      'dead-letter-offset': offset,
      'dead-letter-time': at.toISOString(),
      ...(isCut ? { 'dead-letter-cut': `of ${value.length} bytes and ${ownBytes} of key and headers` } : {}),
    },
  };
}

function batchesOf(letters: readonly DeadLetter[]): DeadLetter[][] {
  const batches: DeadLetter[][] = [];
  let room = 0;
  for (const letter of letters) {
    room -= letter.record.value.length;
    if (room < 0 || batches.length === 0) {
      batches.push([]);
      room = batchBytes - letter.record.value.length;
    }
    batches.at(-1)?.push(letter);
  }
  return batches;
}
