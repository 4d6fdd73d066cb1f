import { abortableDelay } from '@rms/async';
import { note } from '../print.ts';
import { callApi } from './api.ts';
import type { Profile } from './profiles.ts';
import { createRetry, pollMs } from './retry.ts';

/** An event of the feed. */
export interface ApiEvent {
  readonly id: string;
  readonly type: string;
  /** Null: erased. */
  readonly data: object | null;
  readonly sequence: number;
}

interface EventPage {
  readonly data: readonly ApiEvent[];
  readonly meta: { readonly oldest_sequence: number; readonly newest_sequence: number };
}

export interface FollowOptions {
  /** Sequence of the last known event. Undefined: only new events. */
  readonly after: bigint | undefined;
  /** Called once, when the feed is open. Every event after this sequence will be yielded. */
  started(after: number): void;
}

const pageSize = 100;

/**
 * Yields events in the key's environment in order, each once, until the signal aborts. While the API is unreachable,
 * overloaded or limits the key, prints one note, retries, and continues after the last yielded event. Rejects if the
 * first request fails, or if the API refuses a later one.
 */
export async function* followEvents(
  target: Profile,
  { after, started }: FollowOptions,
  signal: AbortSignal,
): AsyncGenerator<ApiEvent, void, undefined> {
  const read = (query: Readonly<Record<string, string>>) =>
    callApi<EventPage>(target, { method: 'get', path: `/v1/events?${new URLSearchParams(query)}`, signal });
  const first = await read({ after: `${after ?? 0n}`, per_page: '1' });
  let sequence = after === undefined ? first.meta.newest_sequence : Number(after);
  started(sequence);
  const retry = createRetry(signal);
  while (!signal.aborted) {
    try {
      const { data, meta } = await read({ after: `${sequence}`, per_page: `${pageSize}` });
      retry.succeeded();
      for (const event of data) {
        // A key may not get all events. A new epoch leaves out a million sequences.
        const isLoss = sequence + 1 < meta.oldest_sequence || event.sequence > sequence + 1_000_000;
        if (isLoss) note(`events ${sequence + 1} to ${event.sequence - 1} are no longer stored`);
        yield event;
        sequence = event.sequence;
      }
      if (data.length < pageSize) await abortableDelay(pollMs, signal);
    } catch (error) {
      await retry.after(error, `the next event is after ${sequence}`);
    }
  }
}
