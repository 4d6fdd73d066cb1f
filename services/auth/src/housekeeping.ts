import type { Pool } from '@rms/db';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import { trimUses } from './key/use-queries.ts';
import { requestPartitions } from './request/request-log.ts';

const everyMs = 10 * 60_000;

/** Keeps what is known of keys' clients small, makes the days of requests to come, and drops those that have had their time. */
export function createHousekeeping(parts: {
  pool: Pool;
  log: Logger;
  requestLogDays: number;
  onSuccess: () => void;
}): Worker {
  const { pool, log, requestLogDays, onSuccess } = parts;
  return {
    name: 'housekeeping',
    async run(signal) {
      while (!signal.aborted) {
        await requestPartitions.make(pool);
        const dropped = await requestPartitions.drop(pool, requestLogDays);
        if (dropped > 0) log.info({ dropped, retention_days: requestLogDays }, 'old days of requests are dropped');
        await trimUses(pool);
        onSuccess();
        await abortableDelay(everyMs, signal);
      }
    },
  };
}
