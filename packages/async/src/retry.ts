import { setTimeout as delay } from 'node:timers/promises';

/**
 * Calls `call` again every `everyMs`, for up to `forMs`, while it rejects with an error that `isTemporary`. Calls
 * `onWait` with the first such error. Rejects with the last error.
 */
export async function retry<T>(
  call: () => Promise<T>,
  options: {
    readonly isTemporary: (error: unknown) => boolean;
    readonly onWait?: (error: unknown) => void;
    readonly forMs: number;
    readonly everyMs: number;
  },
): Promise<T> {
  const { isTemporary, onWait, forMs, everyMs } = options;
  const giveUpAtMs = performance.now() + forMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isTemporary(error) || performance.now() > giveUpAtMs) throw error;
      if (tries === 1) onWait?.(error);
    }
    await delay(everyMs);
  }
}
