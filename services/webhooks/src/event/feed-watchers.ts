import { createWakeableSleep, type WakeableSleep } from '@rms/async';
import { RmsError } from '@rms/base/errors';

/** The feed watchers of this instance. */
export interface FeedWatchers {
  /** Throws `rate_limit_exceeded` if the instance is at its limit of watchers. */
  join(workspaceId: string): FeedWatcher;
  /** Wakes the watchers of the event workspaces. Call it after the events were stored. */
  wake(events: readonly { readonly workspaceId: string }[]): void;
}

export interface FeedWatcher extends Pick<WakeableSleep, 'sleep'> {
  leave(): void;
}

/** Each watcher queries the database a few times per second. */
const maxWatchers = 50;

export function createFeedWatchers(): FeedWatchers {
  const sleepers = new Map<string, Set<WakeableSleep>>();
  let count = 0;
  return {
    join(workspaceId) {
      if (count >= maxWatchers) {
        throw new RmsError('rate_limit_exceeded', {
          message: `This instance has reached its limit of ${maxWatchers} watchers of events. End one of them, for example an rms listen.`,
        });
      }
      count += 1;
      const sleeper = createWakeableSleep();
      const others = sleepers.get(workspaceId) ?? new Set();
      sleepers.set(workspaceId, others.add(sleeper));
      return {
        sleep: sleeper.sleep,
        leave() {
          if (!others.delete(sleeper)) return;
          count -= 1;
          if (others.size === 0) sleepers.delete(workspaceId);
        },
      };
    },
    wake(events) {
      if (count === 0) return;
      for (const workspaceId of new Set(events.map((event) => event.workspaceId))) {
        for (const sleeper of sleepers.get(workspaceId) ?? []) sleeper.wake();
      }
    },
  };
}
