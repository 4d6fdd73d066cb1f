import { RmsError } from '@rms/errors';
import { abortableDelay, type Logger } from '@rms/service';
import { Tail, type Viewer } from './tail.ts';

/** Those who follow deliveries as they come, of all workspaces. */
export interface TailHub {
  /**
   * Resolves once webhooks has been asked, with what ends it. Rejects as webhooks does, and with `rate_limit_exceeded` if
   * there are as many as an instance takes, or as one user may have.
   * @param key the workspace and environment
   * @param after where a stream before has ended; undefined: from now on
   */
  join(key: string, viewer: Viewer, after: bigint | undefined): Promise<() => void>;
  /** Ends all streams; browsers go on at another instance. */
  stop(): void;
}

const everyMs = 1_000;
/** After a look that failed. */
const againMs = 5_000;
const mostViewers = 500;
/** Pages that somebody may have open. */
const mostOfUser = 20;

interface Running {
  readonly tail: Tail;
  /** The first look. */
  readonly began: Promise<void>;
  readonly stop: AbortController;
}

/** As long as anybody looks at a workspace and environment, webhooks is asked once a second, however many they are. */
export function createTailHub(log: Logger): TailHub {
  const running = new Map<string, Running>();
  let count = 0;
  const ofUsers = new Map<string, number>();
  const countUser = (userId: string, change: 1 | -1) => {
    const now = (ofUsers.get(userId) ?? 0) + change;
    if (now > 0) ofUsers.set(userId, now);
    else ofUsers.delete(userId);
  };

  const run = async (tail: Tail, began: Promise<void>, { signal }: AbortController) => {
    await began.catch(() => undefined);
    let away = false;
    while (!signal.aborted) {
      await abortableDelay(away ? againMs : everyMs, signal);
      if (signal.aborted) return;
      try {
        await tail.look();
        away = false;
      } catch (err) {
        if (!away && !signal.aborted) log.warn({ err }, 'a live tail stands still: webhooks cannot be asked');
        away = true;
      }
    }
  };

  const begin = (key: string): Running => {
    const tail = new Tail();
    const stop = new AbortController();
    // Once its first viewer is there.
    const began = Promise.resolve().then(() => tail.look());
    const made = { tail, began, stop };
    running.set(key, made);
    void run(tail, began, stop);
    return made;
  };

  return {
    async join(key, viewer, after) {
      if (count >= mostViewers) {
        throw new RmsError('rate_limit_exceeded', { message: `${mostViewers} live tails are open already.` });
      }
      if ((ofUsers.get(viewer.userId) ?? 0) >= mostOfUser) {
        throw new RmsError('rate_limit_exceeded', { message: `You have ${mostOfUser} live tails open already.` });
      }
      const here = running.get(key) ?? begin(key);
      count += 1;
      countUser(viewer.userId, 1);
      here.tail.add(viewer, after);
      let left = false;
      const leave = () => {
        if (left) return;
        left = true;
        count -= 1;
        countUser(viewer.userId, -1);
        here.tail.remove(viewer);
        if (here.tail.viewers.length > 0) return;
        here.stop.abort();
        if (running.get(key) === here) running.delete(key);
      };
      try {
        await here.began;
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
