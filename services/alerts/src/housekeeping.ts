import type { Pool } from '@rms/db';
import { abortableDelay, type Worker } from '@rms/service';
import { forgetIncidents } from './incident/incident-queries.ts';
import { forgetMails } from './mail/mail-queries.ts';
import { forgetCounts, forgetReporters } from './usage/old-usage-queries.ts';

const everyMs = 10 * 60_000;

/** Removes what has had its time. */
export function createHousekeeping({ pool, onSuccess }: { pool: Pool; onSuccess: () => void }): Worker {
  return {
    name: 'housekeeping',
    async run(signal) {
      while (!signal.aborted) {
        while (!signal.aborted && (await forgetCounts(pool)) > 0);
        await forgetReporters(pool);
        await forgetMails(pool);
        await forgetIncidents(pool);
        onSuccess();
        await abortableDelay(everyMs, signal);
      }
    },
  };
}
