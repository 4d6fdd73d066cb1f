import type { BatchRange } from '@rms/bus';
import { inOneRoundTrip, type Pool } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { WebhooksMetrics } from '../metrics.ts';
import { type InsertedLetter, type InsertedRow, insertingLetters, readLetterBytes } from './dead-letter-queries.ts';
import type { DeadLetter } from './decode.ts';
import { advancePositions } from './position-queries.ts';

export interface DeadLetterParts {
  readonly pool: Pool;
  /** The topic that the records were read from. */
  readonly topic: string;
  readonly metrics: Pick<WebhooksMetrics, 'deadLetters'>;
  readonly log: Logger;
  /** Size of the table above which no record is kept. */
  readonly maxBytes?: number;
}

/** About four million records of 2 kB. */
export const maxLetterBytes = 8 * 1024 ** 3;
/** Values per statement. */
const statementBytes = 4 * 1024 * 1024;

/**
 * Creates a function that keeps records in webhooks.dead_letters, and advances the positions of their ranges in the same
 * commit. It resolves to the partitions with a stored position before their range: their records are not kept. A record
 * that arrives again changes nothing. Rejects if the table has reached its maximum size: the records' partitions
 * then stop, so that none is lost.
 */
export function createDeadLetters({ pool, topic, metrics, log, maxBytes = maxLetterBytes }: DeadLetterParts) {
  return async (letters: readonly DeadLetter[], ranges: readonly BatchRange[]): Promise<readonly number[]> => {
    if (letters.length === 0) return ranges.length === 0 ? [] : advancePositions(pool, topic, ranges);
    const bytes = await readLetterBytes(pool);
    if (bytes >= maxBytes) {
      throw new Error(
        `webhooks.dead_letters has ${bytes} of at most ${maxBytes} bytes, so the partitions of further dead letters wait`,
      );
    }
    const all = new Set<number>();
    const batches = batchesOf(letters);
    for (const [i, batch] of batches.entries()) {
      // The positions advance with the last statement.
      const handled = ranges.map((range) => ({ range, advances: i === batches.length - 1 }));
      const [result] = await inOneRoundTrip(pool, [insertingLetters(topic, batch, handled)]);
      const [row] = (result?.rows ?? []) as InsertedRow[];
      report(batch, row?.inserted ?? []);
      for (const partition of row?.behind ?? []) all.add(partition);
    }
    return [...all];
  };

  function report(batch: readonly DeadLetter[], inserted: readonly InsertedLetter[]): void {
    const headersOf = new Map(batch.map(({ record }) => [placeOf(record), record.headers]));
    const parked = new Map<string, { readonly first: InsertedLetter; records: number }>();
    for (const letter of inserted) {
      const { workspaceId: workspace_id, environment, reason, partition, offset, error: detail } = letter;
      metrics.deadLetters.inc({ reason });
      if (reason === 'failed') {
        const name = `${workspace_id} ${environment}`;
        const known = parked.get(name);
        if (known) known.records += 1;
        else parked.set(name, { first: letter, records: 1 });
      } else {
        const request_id = headersOf.get(placeOf(letter))?.['x-request-id'];
        log.error(
          { reason, detail, topic, partition, offset, workspace_id, environment, request_id },
          'record cannot be processed; kept as a dead letter',
        );
      }
    }
    for (const { first, records } of parked.values()) {
      const { workspaceId: workspace_id, environment, error: detail } = first;
      log.error(
        { workspace_id, environment, records, detail, topic },
        'events of a tenant cannot be stored; its records are parked',
      );
    }
  }
}

function placeOf({ partition, offset }: { readonly partition: number; readonly offset: string }): string {
  return `${partition}/${offset}`;
}

function batchesOf(letters: readonly DeadLetter[]): DeadLetter[][] {
  const batches: DeadLetter[][] = [];
  let remainingBytes = 0;
  for (const letter of letters) {
    remainingBytes -= letter.record.value.length;
    if (remainingBytes < 0 || batches.length === 0) {
      batches.push([]);
      remainingBytes = statementBytes - letter.record.value.length;
    }
    batches.at(-1)?.push(letter);
  }
  return batches;
}
