import { abortableDelay } from '@rms/async';
import type { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { OpenFeed } from './clients.ts';

const pollMs = 1_000;

/**
 * Returns the type of the event that a feed gets next; undefined if the signal aborts before.
 * Polls, and continues after errors, because the result is only a hint.
 */
export async function firstEventType(
  openFeed: OpenFeed,
  tenant: { workspaceId: string; environment: Environment },
  signal: AbortSignal,
): Promise<string | undefined> {
  let after: bigint | undefined;
  while (!signal.aborted) {
    try {
      const feed = await openFeed();
      try {
        while (!signal.aborted) {
          const { events, newestPosition } = await feed.listEvents(
            { ...tenant, after: after ?? 0n, pageSize: 1 },
            { signal },
          );
          if (after !== undefined && events[0]) return events[0].type;
          after ??= newestPosition;
          await abortableDelay(pollMs, signal);
        }
      } finally {
        feed.close();
      }
    } catch {
      await abortableDelay(pollMs, signal);
    }
  }
  return undefined;
}
