import { createWakeableSleep } from '@rms/async';
import type { Pool } from '@rms/db';
import type { Limiter } from '@rms/limiter';
import type { Logger } from '@rms/logging';
import type { Worker } from '@rms/service';
import type { Tenant } from '@rms/tenant';
import { startOf } from './usage.ts';
import { readQuotaUses } from './usage-queries.ts';

const everyMs = 60_000;
const retryMs = 1_000;
const rowsPerStatement = 1_000;

export interface QuotaKeeperParts {
  readonly pool: Pool;
  readonly limiter: Pick<Limiter, 'raiseQuotas' | 'onMarkersLost'>;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Creates the worker that raises the quota counters in Redis to the counts in PostgreSQL. The counters fall behind when
 * Redis loses data or is unavailable. The worker runs at the start, every minute, and immediately when Redis may have
 * lost data.
 */
export function createQuotaKeeper({ pool, limiter, log, now }: QuotaKeeperParts): Worker {
  const raiseAll = async (signal: AbortSignal) => {
    let last: Tenant | undefined;
    const failed: unknown[] = [];
    do {
      const monthMs = startOf('month', now());
      const uses = await readQuotaUses(pool, monthMs, last, rowsPerStatement);
      if (uses.length > 0) {
        // A failing batch must not block the batches of other workspaces.
        await limiter.raiseQuotas(uses.map((use) => ({ ...use, monthMs }))).catch((error) => failed.push(error));
      }
      last = uses.length === rowsPerStatement ? uses.at(-1) : undefined;
    } while (last && !signal.aborted);
    if (failed.length > 0) throw failed[0];
  };
  return {
    name: 'quota',
    async run(signal) {
      const sleeper = createWakeableSleep();
      const unsubscribe = limiter.onMarkersLost(sleeper.wake);
      let failing = false;
      try {
        while (!signal.aborted) {
          try {
            await raiseAll(signal);
            failing = false;
          } catch (err) {
            if (!failing) log.warn({ err }, 'could not update the quota counters');
            failing = true;
          }
          await sleeper.sleep(failing ? retryMs : everyMs, signal);
        }
      } finally {
        unsubscribe();
      }
    },
  };
}
