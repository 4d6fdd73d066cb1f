import { setTimeout as delay } from 'node:timers/promises';
import type { Pool } from '@rms/db';
import { type Limiter, marksTrustMs } from '@rms/limiter';
import { abortableDelay, type Logger, type Worker } from '@rms/service';
import type { AuthMetrics } from '../metrics.ts';
import { arePending, deletePendingMarks, type KeyMark, readPendingMarks } from './mark-queries.ts';

const everyMs = 1_000;
const batch = 1_000;
const pollMs = 100;
/** Past the end of gateways' trust, for timers that are not exact. */
const marginMs = 200;

/** Makes changes of keys hold at every gateway. */
export interface Marks {
  /**
   * Resolves once no gateway relies on what it knew of these keys before: their marks are set in Redis, by this instance
   * or another one, or every gateway has stopped to trust marks because nobody vouches for them any more. Call it after
   * the commit. Never rejects.
   */
  hold(marks: readonly KeyMark[]): Promise<void>;
  /** Sets what other calls could not, and vouches for the marks: see {@link Limiter.confirmMarks}. */
  readonly worker: Worker;
}

/**
 * How a change of a key reaches gateways that have cached it (invariant 3):
 *
 *   commit with a pending mark ──mark is set in Redis──► holds
 *          └──Redis cannot be reached──► nobody vouches, for the mark is pending ──trust runs out──► holds
 */
export function createMarks(parts: {
  pool: Pool;
  limiter: Pick<Limiter, 'mark' | 'confirmMarks'>;
  log: Logger;
  metrics: AuthMetrics;
}): Marks {
  const { pool, limiter, log, metrics } = parts;

  const set = async (marks: readonly KeyMark[]) => {
    await limiter.mark(marks);
    await deletePendingMarks(pool, marks);
  };
  /** The trust that was given before the commit has run out; what was given after it knew of the pending mark. */
  const untilNobodyTrusts = async (marks: readonly KeyMark[], committedAtMs: number) => {
    while (performance.now() < committedAtMs + marksTrustMs + marginMs) {
      await delay(pollMs);
      if (!(await arePending(pool, marks).catch(() => true))) return;
    }
  };

  return {
    async hold(marks) {
      if (marks.length === 0) return;
      const committedAtMs = performance.now();
      try {
        await set(marks);
      } catch (err) {
        log.warn({ err, keys: marks.length }, 'a change of keys could not be marked; waiting until no gateway trusts');
        await untilNobodyTrusts(marks, committedAtMs);
      }
      metrics.revocationSeconds.observe((performance.now() - committedAtMs) / 1000);
    },
    worker: {
      name: 'marks',
      async run(signal) {
        let confirmed = true;
        while (!signal.aborted) {
          try {
            await limiter.confirmMarks(async () => {
              for (let pending = await readPendingMarks(pool, batch); pending.length > 0; ) {
                await set(pending);
                pending = await readPendingMarks(pool, batch);
              }
            });
            if (!confirmed) log.info('marks of key changes are confirmed again');
            confirmed = true;
          } catch (err) {
            if (confirmed)
              log.warn({ err }, 'marks of key changes cannot be confirmed; gateways will ask about every key');
            confirmed = false;
          }
          metrics.marksConfirmed.set(confirmed ? 1 : 0);
          await abortableDelay(everyMs, signal);
        }
      },
    },
  };
}
