import { abortableDelay } from '@rms/async';
import type { Pool } from '@rms/db';
import type { Logger } from '@rms/logging';
import type { Worker } from '@rms/service';
import { deleteExpired } from './idempotency-queries.ts';

const everyMs = 60_000;
const batch = 1_000;

/** Creates the worker that deletes expired idempotency records (TTL 24 hours) in small batches. */
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
        await abortableDelay(everyMs, signal);
      }
    },
  };
}
