import { abortableDelay } from '@rms/async';
import type { Logger } from '@rms/runtime/logging';
import { type BatchRange, type ConsumedRecord, RewoundError, type Subscription } from './event-bus.ts';

/** Delay of the first retry of a failed call; doubles up to {@link maxRetryMs}. */
export const firstRetryMs = 50;
export const maxRetryMs = 1_000;

/**
 * Calls the handler with `records` until it succeeds. Rejects after the signal has aborted.
 *
 * @throws RewoundError
 */
export async function handleUntilDone(
  { group, topic, onBatch }: Subscription,
  records: readonly ConsumedRecord[],
  signal: AbortSignal,
  log: Logger | undefined,
  range?: BatchRange,
): Promise<void> {
  for (let retryMs = firstRetryMs; ; retryMs = Math.min(retryMs * 2, maxRetryMs)) {
    signal.throwIfAborted();
    try {
      return await onBatch(records, signal, range);
    } catch (err) {
      if (signal.aborted || err instanceof RewoundError) throw err;
      const { partition, offset } = records[0] ?? {};
      log?.warn({ err, group, topic, partition, offset, records: records.length }, 'batch handler failed; retrying');
      await abortableDelay(retryMs, signal);
    }
  }
}
