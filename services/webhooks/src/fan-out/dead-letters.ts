import type { BusRecord, EventBus } from '@rms/bus';
import type { Logger } from '@rms/logging';
import type { WebhooksMetrics } from '../metrics.ts';
import type { DeadLetter } from './decode.ts';

export interface DeadLetterParts {
  readonly bus: EventBus;
  /** The dead-letter topic, which has one partition. */
  readonly topic: string;
  /** The topic that the records were read from. */
  readonly source: string;
  readonly metrics: Pick<WebhooksMetrics, 'deadLetters'>;
  readonly log: Logger;
}

/** Well below Kafka's message size limit of 1 MB. */
const batchBytes = 512 * 1024;
const valueLimit = 768 * 1024;
const headersLimit = 64 * 1024;
const detailLimit = 500;

/**
 * Creates a function that publishes records unchanged to the dead-letter topic, at least once, with headers for the
 * reason and the original position. It resolves when they are acknowledged. If it rejects, the current batch is not
 * counted.
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
          'record cannot be processed; published to the dead-letter topic',
        );
      }
    }
  };
}

/**
 * Makes a dead-letter record. If the original is so large that Kafka would reject it with the additional headers, its
 * value is truncated or its own headers are dropped.
 */
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
  let remainingBytes = 0;
  for (const letter of letters) {
    remainingBytes -= letter.record.value.length;
    if (remainingBytes < 0 || batches.length === 0) {
      batches.push([]);
      remainingBytes = batchBytes - letter.record.value.length;
    }
    batches.at(-1)?.push(letter);
  }
  return batches;
}
