/** A sleep that others can end: at once, or at a time that they know of. */
export interface WakeableSleep {
  /** Sleeps so long at most. A call to wake() that came before counts. Answers whether it was woken. */
  sleep(longestMs: number, signal: AbortSignal): Promise<boolean>;
  wake(): void;
  /** The earliest of such times counts. */
  wakeAt(atMs: number): void;
}

export function createWakeableSleep(): WakeableSleep {
  let wakeAtMs = Number.POSITIVE_INFINITY;
  let end = () => {};
  const wakeAt = (atMs: number) => {
    if (atMs >= wakeAtMs) return;
    wakeAtMs = atMs;
    end();
  };
  return {
    wake: () => wakeAt(0),
    wakeAt,
    async sleep(longestMs, signal) {
      const endsAtMs = Date.now() + longestMs;
      while (!signal.aborted) {
        const leftMs = Math.min(endsAtMs, wakeAtMs) - Date.now();
        if (leftMs <= 0) break;
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, leftMs);
          end = () => {
            clearTimeout(timer);
            resolve();
          };
          signal.addEventListener('abort', end, { once: true });
        });
        signal.removeEventListener('abort', end);
      }
      const isWoken = wakeAtMs <= Date.now();
      if (isWoken) wakeAtMs = Number.POSITIVE_INFINITY;
      return isWoken;
    },
  };
}
