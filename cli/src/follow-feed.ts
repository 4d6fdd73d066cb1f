import { RmsError } from '@rms/errors';
import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { FeedEvent } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { abortableDelay } from '@rms/service';
import type { OpenFeed } from './connect.ts';
import { describeFailure } from './failure.ts';
import { note } from './print.ts';

export interface Following {
  readonly workspaceId: string;
  readonly environment: Environment;
  /** The position of the last event that is known; undefined: only events from now on. */
  readonly after: bigint | undefined;
  /** Told once, when every event after that position will come. */
  begun(after: bigint): void;
}

/** A watch ends before the server ends its connection (after five minutes), and the next one goes on. */
const watchMs = 4 * 60_000;
/** One that has lasted so long has worked. */
const steadyMs = 5_000;
const firstDelayMs = 100;
const longestDelayMs = 5_000;

/**
 * The events of a feed in their order, each once, until the signal aborts. When the service goes away it says so once, and
 * goes on after the last event that was taken as soon as there is a service. Rejects if it cannot begin, or if the feed
 * does not reach to the position that it is to be followed from.
 *
 *   opening ──ok──► watching ──ends, breaks──► opening
 *      └──no answer──► waiting (100 ms … 5 s) ──► opening
 */
export async function* followFeed(
  openFeed: OpenFeed,
  { workspaceId, environment, after, begun }: Following,
  signal: AbortSignal,
): AsyncGenerator<FeedEvent, void, undefined> {
  const tenant = { workspaceId, environment };
  let position = after;
  let hasBegun = false;
  let failures = 0;
  while (!signal.aborted) {
    let openedAtMs = Number.POSITIVE_INFINITY;
    let problem: unknown;
    try {
      const feed = openFeed();
      try {
        const { oldestPosition, newestPosition } = await feed.listEvents(
          { ...tenant, after: position ?? 0n, pageSize: 1 },
          { signal },
        );
        position = startOf(position, oldestPosition, newestPosition);
        openedAtMs = performance.now();
        if (!hasBegun) begun(position);
        hasBegun = true;
        const request = { ...tenant, after: position };
        for await (const { event } of feed.watchEvents(request, { signal, timeoutMs: watchMs })) {
          if (!event) continue;
          failures = 0;
          yield event;
          position = event.position;
        }
      } finally {
        feed.close();
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!hasBegun || !(error instanceof RmsError) || error.code === 'invalid_request') throw error;
      problem = error;
    }
    if (performance.now() - openedAtMs >= steadyMs) failures = 0;
    else if (problem !== undefined) failures += 1;
    if (failures === 1) note(`${describeFailure(problem)} It is tried again, from after event ${position} on.`);
    await abortableDelay(failures === 0 ? 0 : delayMs(failures), signal);
  }
}

/** Where to go on. Says so if events in between are gone. */
function startOf(position: bigint | undefined, oldest: bigint, newest: bigint): bigint {
  if (position === undefined) return newest;
  const first = oldest === 0n ? newest + 1n : oldest;
  if (first > position + 1n) note(`events ${position + 1n} to ${first - 1n} are no longer kept`);
  return position;
}

function delayMs(failures: number): number {
  const longest = Math.min(firstDelayMs * 2 ** (failures - 1), longestDelayMs);
  return longest * (0.75 + Math.random() / 4);
}
