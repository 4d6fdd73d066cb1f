/**
 * The database's clock, continued by the monotonic clock of this process. It does not depend on the clock of this
 * machine, which may be wrong or be set at any time, and all instances share it.
 */
export interface DatabaseClock {
  /** Milliseconds since 1970. Throws if the clock has not been read. */
  nowMs(): number;
  /** Reads the clock unless it has been read. Rejects if the database is unreachable. */
  ready(): Promise<void>;
}

/** @param read reads the database clock and passes it to `set` */
export function createDatabaseClock(read: () => Promise<void>): DatabaseClock & {
  /** Sets the clock to a reading whose statement was sent and answered at these times of performance.now(). */
  set(databaseMs: number, sentAtMs: number, respondedAtMs: number): void;
} {
  /** Difference to performance.now(). */
  let offsetMs: number | undefined;
  return {
    nowMs() {
      if (offsetMs === undefined) throw new Error('the clock of the database has not been read');
      return Math.floor(performance.now() + offsetMs);
    },
    async ready() {
      if (offsetMs === undefined) await read();
    },
    set(databaseMs, sentAtMs, respondedAtMs) {
      const readMs = databaseMs - (sentAtMs + respondedAtMs) / 2;
      // A reading is uncertain by half of its round trip. Within that uncertainty, the earlier reading is kept.
      const isClose = offsetMs !== undefined && Math.abs(readMs - offsetMs) <= (respondedAtMs - sentAtMs) / 2;
      if (!isClose) offsetMs = readMs;
    },
  };
}
