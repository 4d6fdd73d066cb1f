import type { Pool } from '@rms/db';
import { abortableDelay, type Worker } from '@rms/service';
import { trimUses } from './key/use-queries.ts';

const everyMs = 10 * 60_000;

/** Keeps what is known of keys' clients small. */
export function createHousekeeping({ pool, onSuccess }: { pool: Pool; onSuccess: () => void }): Worker {
  return {
    name: 'housekeeping',
    async run(signal) {
      while (!signal.aborted) {
        await trimUses(pool);
        onSuccess();
        await abortableDelay(everyMs, signal);
      }
    },
  };
}
