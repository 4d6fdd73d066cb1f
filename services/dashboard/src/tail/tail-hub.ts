import { abortableDelay, FairShare } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import type { Logger } from '@rms/runtime/logging';
import { Tail, type Viewer } from './tail.ts';

/** Live tails of deliveries, for all workspaces. */
export interface TailHub {
  /**
   * Adds a viewer. Resolves after the first poll, with a function that removes the viewer. Rejects with the error of
   * the poll, or with `rate_limit_exceeded` if a limit is reached: per instance, per user, or per workspace and
   * environment.
   * @param key workspace and environment
   * @param after position of the last received event; undefined: only new changes
   */
  join(key: string, viewer: Viewer, after: bigint | undefined): Promise<() => void>;
  /** Ends all streams. Browsers reconnect to another instance. */
  stop(): void;
}

const everyMs = 1_000;
/** Delay after a failed poll. */
const retryMs = 5_000;
const maxViewers = 500;
/** Open live tails per user, and per workspace and environment, so that these leave room for others. */
const maxPerUser = 20;
const maxPerTenant = 100;

interface Running {
  readonly tail: Tail;
  /** First poll. */
  readonly started: Promise<void>;
  readonly stop: AbortController;
}

/**
 * Polls webhooks once per second per workspace and environment with viewers. The rate does not depend on the
 * number of viewers.
 */
export function createTailHub(log: Logger): TailHub {
  const running = new Map<string, Running>();
  const viewers = new FairShare({ total: maxViewers, perTenant: maxPerUser });

  const run = async (tail: Tail, started: Promise<void>, { signal }: AbortController) => {
    await started.catch(() => undefined);
    let unavailable = false;
    while (!signal.aborted) {
      await abortableDelay(unavailable ? retryMs : everyMs, signal);
      if (signal.aborted) return;
      try {
        await tail.poll();
        unavailable = false;
      } catch (err) {
        if (!unavailable && !signal.aborted) log.warn({ err }, 'live tail poll failed');
        unavailable = true;
      }
    }
  };

  const begin = (key: string): Running => {
    const tail = new Tail();
    const stop = new AbortController();
    // Polls after the first viewer has been added.
    const started = Promise.resolve().then(() => tail.poll());
    const created = { tail, started, stop };
    running.set(key, created);
    void run(tail, started, stop);
    return created;
  };

  return {
    async join(key, viewer, after) {
      if (viewers.used >= maxViewers) {
        throw new RmsError('rate_limit_exceeded', { message: `Too many live tails are open (limit: ${maxViewers}).` });
      }
      if (viewers.of(viewer.userId) >= maxPerUser) {
        throw new RmsError('rate_limit_exceeded', {
          message: `You have too many live tails open (limit: ${maxPerUser}).`,
        });
      }
      if ((running.get(key)?.tail.viewers.length ?? 0) >= maxPerTenant) {
        throw new RmsError('rate_limit_exceeded', {
          message: `The workspace has too many live tails open in this environment (limit: ${maxPerTenant}).`,
        });
      }
      const here = running.get(key) ?? begin(key);
      viewers.take(viewer.userId);
      here.tail.add(viewer, after);
      let hasLeft = false;
      const leave = () => {
        if (hasLeft) return;
        hasLeft = true;
        viewers.release(viewer.userId);
        here.tail.remove(viewer);
        if (here.tail.viewers.length > 0) return;
        here.stop.abort();
        if (running.get(key) === here) running.delete(key);
      };
      try {
        await here.started;
      } catch (error) {
        leave();
        throw error;
      }
      return leave;
    },
    stop() {
      for (const { tail } of running.values()) for (const viewer of tail.viewers) viewer.end();
    },
  };
}
