import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@rms/db';
import type { Logger, Worker } from '@rms/service';
import { deleteExpired } from './idempotency-queries.ts';

const everyMs = 60_000;
const batch = 1_000;

/** Removes answers after their 24 hours, a small batch at a time. */
export function createHousekeeping({
  pool,
  log,
  onSuccess,
}: {
  pool: Pool;
  log: Logger;
  onSuccess: () => void;
}): Worker {
  return {
    name: 'idempotency-housekeeping',
    async run(signal) {
      while (!signal.aborted) {
        const deleted = await deleteExpired(pool, batch);
        if (deleted > 0) log.debug({ deleted }, 'expired idempotency keys removed');
        if (deleted === batch) continue;
        onSuccess();
        await delay(everyMs, undefined, { signal, ref: false }).catch(() => {});
      }
    },
  };
}
