import { abortableDelay } from '@rms/async';
import { createDatabaseClock } from './database-clock.ts';
import type { Queryable } from './queryable.ts';

/** The database's clock for handlers and workers; see createDatabaseClock(). */
export interface DatabaseTime {
  /** Returns milliseconds since 1970. Uses the clock of this machine until the first reading; see {@link start}. */
  nowMs(): number;
  /** Reads the clock for the first time. Call it before serving. Also resolves if the database is unreachable. */
  start(): Promise<void>;
  /** Reads the clock unless the last reading is recent. Resolves to {@link nowMs}; rejects without a database. */
  fresh(): Promise<number>;
  /** The worker that reads the clock regularly, for {@link nowMs}. */
  readonly reader: { readonly name: string; run(signal: AbortSignal): Promise<void> };
}

const recentMs = 60_000;
const readEveryMs = 30_000;

export function createDatabaseTime(db: Queryable): DatabaseTime {
  const clock = createDatabaseClock(db);
  let readAtMs = Number.NEGATIVE_INFINITY;
  const nowMs = () => (readAtMs === Number.NEGATIVE_INFINITY ? Date.now() : clock.nowMs());
  const read = async () => {
    await clock.read();
    readAtMs = performance.now();
  };
  return {
    nowMs,
    start: () => read().catch(() => {}),
    async fresh() {
      if (performance.now() - readAtMs > recentMs) await read();
      return nowMs();
    },
    reader: {
      name: 'database-time',
      async run(signal) {
        while (!signal.aborted) {
          await read();
          await abortableDelay(readEveryMs, signal);
        }
      },
    },
  };
}
