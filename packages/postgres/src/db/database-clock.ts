import { inCall } from '@rms/async';
import type { Queryable } from './queryable.ts';

/**
 * The database's clock, continued by the monotonic clock of this process. It does not depend on the clock of this
 * machine, which may be wrong or be set at any time, and all instances share it.
 */
export interface DatabaseClock {
  /** Milliseconds since 1970. Throws if the clock has not been read. */
  nowMs(): number;
  /** Reads the database's clock; call it regularly. Rejects if the database is unreachable. */
  read(): Promise<void>;
  /** Reads the clock unless it has been read. Rejects if the database is unreachable. */
  ready(): Promise<void>;
}

export function createDatabaseClock(db: Queryable): DatabaseClock {
  /** Difference to performance.now(). */
  let offsetMs: number | undefined;
  const nowMs = () => {
    if (offsetMs === undefined) throw new Error('the clock of the database has not been read');
    return Math.floor(performance.now() + offsetMs);
  };
  const read = async () => {
    const sentAtMs = performance.now();
    const { rows } = await db.query<{ ms: number }>(
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
    );
    const respondedAtMs = performance.now();
    const readMs = (rows[0]?.ms ?? Number.NaN) - (sentAtMs + respondedAtMs) / 2;
    // A reading is uncertain by half of its round trip. Within that uncertainty, the earlier reading is kept.
    const isClose = offsetMs !== undefined && Math.abs(readMs - offsetMs) <= (respondedAtMs - sentAtMs) / 2;
    if (!isClose) offsetMs = readMs;
  };
  let first: Promise<void> | undefined;
  return {
    nowMs,
    read,
    async ready() {
      if (offsetMs !== undefined) return;
      // All callers share the reading, so it does not end with the call that starts it.
      first ??= inCall(undefined, read).finally(() => {
        first = undefined;
      });
      await first;
    },
  };
}
