import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@rms/db';
import type { Logger, Worker } from '@rms/service';
import { eraseDeleted } from './log/erase-queries.ts';
import { deleteExpiredKeys } from './subscription/idempotency-queries.ts';

const everyMs = 60_000;
const eraseEveryMs = 2_000;

/** Removes what has had its time: idempotent answers after 24 hours, and bodies of deleted resources if asked to. */
export function createHousekeeping(parts: { pool: Pool; log: Logger; eraseOnDelete: boolean }): Worker {
  const { pool, log, eraseOnDelete } = parts;
  return {
    name: 'housekeeping',
    async run(signal) {
      let keysAtMs = 0;
      while (!signal.aborted) {
        if (Date.now() >= keysAtMs) {
          await deleteExpiredKeys(pool);
          keysAtMs = Date.now() + everyMs;
        }
        if (eraseOnDelete) {
          const erased = await eraseDeleted(pool);
          if (erased > 0) log.info({ erased }, 'event bodies of deleted resources erased');
        }
        await delay(eraseOnDelete ? eraseEveryMs : everyMs, undefined, { signal }).catch(() => {});
      }
    },
  };
}
