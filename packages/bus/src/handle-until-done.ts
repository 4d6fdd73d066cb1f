import { abortableDelay, type Logger } from '@rms/service';
import type { ConsumedRecord, Subscription } from './event-bus.ts';

const firstRetryMs = 50;
const longestRetryMs = 1_000;

/** Hands a batch over until it is handled. Rejects only once the signal has aborted. */
export async function handleUntilDone(
  { group, topic, onBatch }: Subscription,
  records: readonly ConsumedRecord[],
  signal: AbortSignal,
  log: Logger | undefined,
): Promise<void> {
  for (let retryMs = firstRetryMs; ; retryMs = Math.min(retryMs * 2, longestRetryMs)) {
    signal.throwIfAborted();
    try {
      return await onBatch(records, signal);
    } catch (err) {
      if (signal.aborted) throw err;
      const { partition, offset } = records[0] ?? {};
      log?.warn({ err, group, topic, partition, offset, records: records.length }, 'a batch failed; it comes again');
      await abortableDelay(retryMs, signal);
    }
  }
}
