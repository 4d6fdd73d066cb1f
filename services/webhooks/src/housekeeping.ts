import type { Pool } from '@rms/db';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import { failAbandoned } from './delivery/end-queries.ts';
import { eraseDeleted } from './log/erase-queries.ts';
import { logPartitions } from './log/partitions.ts';
import { deleteExpiredKeys } from './subscription/idempotency-queries.ts';

const everyMs = 60_000;
const eraseEveryMs = 2_000;

/**
 * Makes the partitions of the days to come, and removes what has had its time: the log by the day, idempotent answers
 * after 24 hours, what is left of the backlogs of webhooks that are not called any more, and bodies of deleted resources if
 * asked to.
 */
export function createHousekeeping(parts: {
  pool: Pool;
  log: Logger;
  eraseOnDelete: boolean;
  retentionDays: number;
  /** Called each time that all of it is done. */
  onSuccess: () => void;
}): Worker {
  const { pool, log, eraseOnDelete, retentionDays, onSuccess } = parts;
  return {
    name: 'housekeeping',
    async run(signal) {
      let nextAtMs = 0;
      while (!signal.aborted) {
        if (Date.now() >= nextAtMs) {
          await logPartitions.make(pool);
          const dropped = await logPartitions.drop(pool, retentionDays);
          if (dropped > 0) log.info({ dropped, retention_days: retentionDays }, 'old days of the log are dropped');
          await deleteExpiredKeys(pool);
          while (!signal.aborted && (await failAbandoned(pool)) > 0);
          onSuccess();
          nextAtMs = Date.now() + everyMs;
        }
        if (eraseOnDelete) {
          const erased = await eraseDeleted(pool);
          if (erased > 0) log.info({ erased }, 'event bodies of deleted resources erased');
        }
        await abortableDelay(eraseOnDelete ? eraseEveryMs : everyMs, signal);
      }
    },
  };
}
