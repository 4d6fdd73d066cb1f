import { RmsError } from '@rms/errors';
import { createWakeableSleep, type WakeableSleep } from '../delivery/wakeable-sleep.ts';

/** Those who watch feeds on this instance. */
export interface FeedWatchers {
  /** Throws `rate_limit_exceeded` if there are as many as an instance takes. */
  join(workspaceId: string): FeedWatcher;
  /** Events of these workspaces have been stored. */
  wake(events: readonly { readonly workspaceId: string }[]): void;
}

export interface FeedWatcher extends Pick<WakeableSleep, 'sleep'> {
  leave(): void;
}

/** Each asks the database a few times a second. */
const mostWatchers = 50;

export function createFeedWatchers(): FeedWatchers {
  const sleepers = new Map<string, Set<WakeableSleep>>();
  let count = 0;
  return {
    join(workspaceId) {
      if (count >= mostWatchers) {
        throw new RmsError('rate_limit_exceeded', {
          message: `This instance has ${mostWatchers} watchers of events already; end one of them, or try again later.`,
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
