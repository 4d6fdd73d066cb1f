import { createWakeableSleep } from '@rms/async';

/** A queue in a table, for its worker at this instance. The worker polls only while the table may have rows. */
export interface Queue {
  /** Whether the table may have rows that are due soon. False only while the last reading has found none. */
  readonly mayHaveRows: boolean;
  /** Ends the worker's sleep in `inMs`, by default immediately, because rows have been committed that are due then. */
  wake(inMs?: number): void;
  /**
   * Pauses the worker after it has found no due rows: for at most `pollMs` while the table may have rows, otherwise for
   * at most `emptyMs`, by default without limit. Ends immediately if the worker was woken since then.
   */
  sleep(pollMs: number, signal: AbortSignal, emptyMs?: number): Promise<void>;
  /** Waits until the table may have rows, for at most `maxMs`. Several callers can wait. Returns {@link mayHaveRows}. */
  untilRows(maxMs: number, signal: AbortSignal): Promise<boolean>;
}

/** A queue whose table is read by a {@link createDatabaseWatch database watch}. */
export interface WatchedQueue extends Queue {
  /** Reports whether a table reading that began at `readAtMs` (performance.now()) has found rows. */
  found(hasRows: boolean, readAtMs: number): void;
}

/** Creates a queue that may have rows until {@link WatchedQueue.found} reports that it has none. */
export function createQueue(): WatchedQueue {
  const sleeper = createWakeableSleep();
  /** Ends the waiting of {@link Queue.untilRows}. */
  const waiting = new Set<() => void>();
  let mayHaveRows = true;
  const setRows = () => {
    mayHaveRows = true;
    for (const end of [...waiting]) end();
  };
  /** The latest due time of announced rows. A reading that began before it does not show them. */
  let announcedMs = Number.NEGATIVE_INFINITY;
  return {
    get mayHaveRows() {
      return mayHaveRows;
    },
    wake(inMs = 0) {
      const atMs = performance.now() + inMs;
      announcedMs = Math.max(announcedMs, atMs);
      setRows();
      sleeper.wakeAt(atMs);
    },
    async sleep(pollMs, signal, emptyMs = Number.POSITIVE_INFINITY) {
      await sleeper.sleep(mayHaveRows ? pollMs : emptyMs, signal);
    },
    async untilRows(maxMs, signal) {
      if (mayHaveRows || signal.aborted) return mayHaveRows;
      await new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          waiting.delete(end);
          resolve();
        };
        const timer = setTimeout(end, maxMs);
        signal.addEventListener('abort', end);
        waiting.add(end);
      });
      return mayHaveRows;
    },
    found(hasRows, readAtMs) {
      if (!hasRows) {
        if (readAtMs > announcedMs) mayHaveRows = false;
      } else if (!mayHaveRows) {
        setRows();
        sleeper.wake();
      }
    },
  };
}
