import type { Pool } from '@rms/db';
import type { Limiter } from '@rms/limiter';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import type { Tenant } from '../tenant.ts';
import { startOf } from './usage.ts';
import { readQuotaUses } from './usage-queries.ts';

const everyMs = 60_000;
const againMs = 1_000;
const atOnce = 1_000;

export interface QuotaKeeperParts {
  readonly pool: Pool;
  readonly limiter: Pick<Limiter, 'raiseQuotas' | 'onMarksLost'>;
  readonly log: Logger;
  readonly now: () => number;
}

/**
 * Keeps the counters of the quota from falling behind what was used this month: after Redis has lost them, or while it was
 * away and nobody counted there, they are raised to the counts in PostgreSQL. At the start, each minute, and at once when
 * Redis may have lost something.
 */
export function createQuotaKeeper({ pool, limiter, log, now }: QuotaKeeperParts): Worker {
  const raiseAll = async (signal: AbortSignal) => {
    let last: Tenant | undefined;
    do {
      const monthMs = startOf('month', now());
      const uses = await readQuotaUses(pool, monthMs, last, atOnce);
      if (uses.length > 0) await limiter.raiseQuotas(uses.map((use) => ({ ...use, monthMs })));
      last = uses.length === atOnce ? uses.at(-1) : undefined;
    } while (last && !signal.aborted);
  };
  return {
    name: 'quota',
    async run(signal) {
      let lost = new AbortController();
      const unsubscribe = limiter.onMarksLost(() => lost.abort());
      let failing = false;
      try {
        while (!signal.aborted) {
          lost = new AbortController();
          try {
            await raiseAll(signal);
            failing = false;
          } catch (err) {
            if (!failing) log.warn({ err }, 'counters of the quota could not be compared with what was used');
            failing = true;
          }
          await abortableDelay(failing ? againMs : everyMs, AbortSignal.any([signal, lost.signal]));
        }
      } finally {
        unsubscribe();
      }
    },
  };
}
