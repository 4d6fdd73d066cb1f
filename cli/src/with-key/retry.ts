import { abortableDelay } from '@rms/async';
import { describeFailure } from '../failure.ts';
import { note } from '../print.ts';
import { ApiError } from './api.ts';

/** Pause between two polls. A request per second is 1 % of a key's default limit. */
export const pollMs = 1_000;
const maxRetryMs = 15_000;

/** Retries of a command that polls the API until the signal aborts. */
export function createRetry(signal: AbortSignal) {
  let delayMs = 0;
  return {
    /** Notes that a poll succeeded. */
    succeeded(): void {
      delayMs = 0;
    },
    /**
     * Waits before the next try. The first failure after a success prints a note that ends with `next`, where the
     * command continues. Rejects with the error if the API refused the request.
     */
    async after(error: unknown, next: string): Promise<void> {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) throw error;
      if (delayMs === 0) note(`${describeFailure(error)} Retrying; ${next}.`);
      delayMs = Math.min(maxRetryMs, Math.max(pollMs, 2 * delayMs));
      await abortableDelay(delayMs, signal);
    },
  };
}
