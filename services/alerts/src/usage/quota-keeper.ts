import { createWakeableSleep } from '@rms/async';
import type { Tenant } from '@rms/base/tenant';
import type { Limiter } from '@rms/limits';
import type { Pool } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { startOf } from './usage.ts';
import { readQuotaUses } from './usage-queries.ts';

const everyMs = 60_000;
/** Counters without recent use fall behind only when Redis loses data, which limiters report. This is the second net. */
const allEveryMs = 60 * 60_000;
/** A report contains minutes that began this long ago; older ones come after an outage. */
const reportedWithinMs = 2 * 60_000;
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
 * Redis loses data or is unavailable. Raises all counters at the start, every hour, and immediately when Redis may have
 * lost data; every minute for tenants with requests since the last pass.
 */
export function createQuotaKeeper({ pool, limiter, log, now }: QuotaKeeperParts): Worker {
  /** @param usedSinceMs undefined: of all tenants */
  const raise = async (usedSinceMs: number | undefined, signal: AbortSignal) => {
    let last: Tenant | undefined;
    const failed: unknown[] = [];
    do {
      const monthMs = startOf('month', now());
      const uses = await readQuotaUses(pool, monthMs, { after: last, usedSinceMs, limit: rowsPerStatement });
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
      let allAtMs = Number.NEGATIVE_INFINITY;
      let lastMs = 0;
      const unsubscribe = limiter.onMarkersLost(() => {
        allAtMs = Number.NEGATIVE_INFINITY;
        sleeper.wake();
      });
      let failing = false;
      try {
        while (!signal.aborted) {
          const startedMs = now();
          const isAll = performance.now() >= allAtMs;
          // Set before the pass, so that a loss during the pass causes another one.
          if (isAll) allAtMs = performance.now() + allEveryMs;
          try {
            await raise(isAll ? undefined : lastMs - reportedWithinMs, signal);
            lastMs = startedMs;
            failing = false;
          } catch (err) {
            if (isAll) allAtMs = Number.NEGATIVE_INFINITY;
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
