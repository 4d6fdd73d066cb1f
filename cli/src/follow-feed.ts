import { abortableDelay } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { FeedEvent } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { OpenFeed } from './clients.ts';
import { describeFailure } from './failure.ts';
import { note } from './print.ts';

export interface Following {
  readonly workspaceId: string;
  readonly environment: Environment;
  /** Position of the last known event. Undefined: only new events. */
  readonly after: bigint | undefined;
  /** Called once, when the feed is open. Every event after this position will be yielded. */
  started(after: bigint): void;
}

/** Deadline of a watch call. The server closes connections after five minutes, so the client ends the call earlier. */
const watchMs = 4 * 60_000;
/** A watch that lasts this long resets the backoff. */
const steadyMs = 5_000;
const firstDelayMs = 100;
const maxDelayMs = 5_000;

/**
 * Yields a feed's events in order, each once, until the signal aborts. If the service becomes unreachable, prints
 * one note and resumes after the last yielded event when the service is back. Rejects if the feed cannot be opened at
 * first, or if the requested position is invalid.
 *
 *   opening ──ok──► watching ──ends, breaks──► opening
 *      └──no response──► waiting (100 ms … 5 s) ──► opening
 */
export async function* followFeed(
  openFeed: OpenFeed,
  { workspaceId, environment, after, started }: Following,
  signal: AbortSignal,
): AsyncGenerator<FeedEvent, void, undefined> {
  const tenant = { workspaceId, environment };
  let position = after;
  let hasStarted = false;
  let failures = 0;
  while (!signal.aborted) {
    let openedAtMs = Number.POSITIVE_INFINITY;
    let problem: unknown;
    try {
      const feed = await openFeed();
      try {
        const { oldestPosition, newestPosition } = await feed.listEvents(
          { ...tenant, after: position ?? 0n, pageSize: 1, withOperational: true },
          { signal },
        );
        position = startOf(position, oldestPosition, newestPosition);
        openedAtMs = performance.now();
        if (!hasStarted) started(position);
        hasStarted = true;
        const request = { ...tenant, after: position, withOperational: true };
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
      if (!hasStarted || !(error instanceof RmsError) || error.code === 'invalid_request') throw error;
      problem = error;
    }
    if (performance.now() - openedAtMs >= steadyMs) failures = 0;
    else if (problem !== undefined) failures += 1;
    if (failures === 1) note(`${describeFailure(problem)} Retrying; the next event is after ${position}.`);
    await abortableDelay(failures === 0 ? 0 : delayMs(failures), signal);
  }
}

/** Returns the position to continue from. Prints a note if events after it are no longer retained. */
function startOf(position: bigint | undefined, oldest: bigint, newest: bigint): bigint {
  if (position === undefined) return newest;
  const first = oldest === 0n ? newest + 1n : oldest;
  if (first > position + 1n) note(`events ${position + 1n} to ${first - 1n} are no longer retained`);
  return position;
}

function delayMs(failures: number): number {
  const longest = Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs);
  return longest * (0.75 + Math.random() / 4);
}
