import { setTimeout as delay } from 'node:timers/promises';
import { type Action, type HostileParts, hostileActions } from './hostile-actions.ts';
import { untilProcessorsAreIdle } from './idle-processors.ts';

/** A tenant that does everything that its limits permit, and more. */
export interface HostileTenant {
  /** Starts random actions. */
  start(): void;
  /** Stops them and deletes the webhooks. Resolves when no action is in progress. */
  stop(): Promise<void>;
  /** Number of actions that succeeded and failed, by name. */
  readonly done: Readonly<Record<string, { succeeded: number; failed: number }>>;
  /** Number of responses by status. */
  readonly statuses: Readonly<Record<number, number>>;
}

/**
 * Number of concurrent actions, the maximum pause after each, and the share of processor time that must be idle before
 * the next. On processors that are always busy, every process waits for its turn, whatever the services do. The test
 * measures only isolation, so the actions leave processor time to the calm tenant.
 */
const workers = 3;
const maxPauseMs = 1_500;
const idleShare = 0.3;

export function createHostileTenant(parts: Omit<HostileParts, 'onStatus'>): HostileTenant {
  const { random } = parts;
  const statuses: Record<number, number> = {};
  const onStatus = (status: number) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const { actions, createWebhooks, removeWebhooks } = hostileActions({ ...parts, onStatus });
  const all = Object.entries(actions).flatMap(([name, [weight, act]]) =>
    Array.from({ length: weight }, (): [string, Action[1]] => [name, act]),
  );
  let choices: typeof all = [];
  const done = Object.fromEntries(Object.keys(actions).map((name) => [name, { succeeded: 0, failed: 0 }]));
  let stopping = false;
  let running: Promise<void>[] = [];

  const work = async () => {
    await createWebhooks().catch(() => {});
    while (!stopping) {
      // Each round performs every action as often as its weight, in random order.
      if (choices.length === 0) choices = [...all];
      const [next = all[0]] = choices.splice(Math.floor(random() * choices.length), 1);
      const [name, act] = next as (typeof all)[number];
      const counts = done[name] as { succeeded: number; failed: number };
      await act().then(
        () => (counts.succeeded += 1),
        () => (counts.failed += 1),
      );
      await delay(random() * maxPauseMs);
      await untilProcessorsAreIdle(idleShare, () => stopping);
    }
  };
  return {
    start() {
      stopping = false;
      running = Array.from({ length: workers }, work);
    },
    async stop() {
      stopping = true;
      await Promise.all(running);
      await removeWebhooks();
    },
    done,
    statuses,
  };
}
