/** A sleep that others can end immediately, or schedule to end at a given time. */
export interface WakeableSleep {
  /** Sleeps for at most `maxMs`, which may be Infinity. An earlier call to wake() ends it immediately. Returns whether it was woken. */
  sleep(maxMs: number, signal: AbortSignal): Promise<boolean>;
  wake(): void;
  /** Ends the sleep at `atMs` of performance.now(). The earliest requested time applies. */
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
    wake: () => wakeAt(Number.NEGATIVE_INFINITY),
    wakeAt,
    async sleep(maxMs, signal) {
      const endsAtMs = performance.now() + maxMs;
      while (!signal.aborted) {
        const remainingMs = Math.min(endsAtMs, wakeAtMs) - performance.now();
        if (remainingMs <= 0) break;
        await new Promise<void>((resolve) => {
          const timer = Number.isFinite(remainingMs) ? setTimeout(resolve, remainingMs) : undefined;
          end = () => {
            clearTimeout(timer);
            resolve();
          };
          signal.addEventListener('abort', end, { once: true });
        });
        signal.removeEventListener('abort', end);
      }
      const isWoken = wakeAtMs <= performance.now();
      if (isWoken) wakeAtMs = Number.POSITIVE_INFINITY;
      return isWoken;
    },
  };
}
