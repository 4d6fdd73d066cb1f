/** Wakes one sleeper. A ring that nobody slept through is remembered, so none is missed. */
export interface Bell {
  ring(): void;
  /** Resolves at the next ring, after a time, or when the signal aborts. */
  sleep(longestMs: number, signal: AbortSignal): Promise<void>;
}

export function createBell(): Bell {
  let rung = false;
  let wake = () => {};
  return {
    ring() {
      rung = true;
      wake();
    },
    async sleep(longestMs, signal) {
      if (!rung && !signal.aborted && longestMs > 0) {
        await new Promise<void>((resolve) => {
          const finish = () => {
            clearTimeout(timer);
            signal.removeEventListener('abort', finish);
            wake = () => {};
            resolve();
          };
          const timer = setTimeout(finish, longestMs);
          signal.addEventListener('abort', finish, { once: true });
          wake = finish;
        });
      }
      rung = false;
    },
  };
}
