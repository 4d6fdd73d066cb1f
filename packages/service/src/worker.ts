import { setMaxListeners } from 'node:events';
import { abortableDelay } from './delay.ts';
import type { Logger } from './logger.ts';

/** Something that runs until its signal aborts. Returning or throwing earlier is a failure that the supervisor mends. */
export interface Worker {
  readonly name: string;
  run(signal: AbortSignal, health?: WorkerHealth): Promise<void>;
}

/** By which a worker that runs says how it fares. One that never says so fares well as long as it runs. */
export interface WorkerHealth {
  /** It does its work. After a failure it counts as failing until it has said so. */
  working(): void;
  /** It runs, and gets nothing done. */
  stuck(): void;
}

export interface Supervisor {
  /** The workers that are not doing their work right now; empty: all is well. Readiness looks here. */
  failing(): readonly string[];
  /** Aborts all workers and waits until each has drained. */
  stop(): Promise<void>;
}

const firstDelayMs = 100;
const longestDelayMs = 5_000;

/**
 * Runs workers side by side and starts one that ended again, after a growing delay.
 *
 *   running ──ends or throws──► waiting (100 ms … 5 s) ──► running
 *      └───────────signal aborts───────────► stopped
 *
 * It is failing from its end until it runs again, or until it says that it works, if it is one that says so.
 */
export function superviseWorkers(workers: readonly Worker[], log: Logger): Supervisor {
  const abort = new AbortController();
  const failing = new Set<string>();
  const { signal } = abort;
  // Each worker waits for it, and each thing that a worker has under way: many at once are no leak.
  setMaxListeners(0, signal);

  const supervise = async (worker: Worker) => {
    let delayMs = firstDelayMs;
    let tells = false;
    const health: WorkerHealth = {
      working() {
        tells = true;
        failing.delete(worker.name);
      },
      stuck: () => void failing.add(worker.name),
    };
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      try {
        if (!tells) failing.delete(worker.name);
        await worker.run(signal, health);
        if (!signal.aborted) log.error({ worker: worker.name }, 'worker ended by itself');
      } catch (error) {
        if (!signal.aborted) log.error({ worker: worker.name, err: error }, 'worker failed');
      }
      if (signal.aborted) return;
      failing.add(worker.name);
      if (performance.now() - startedAtMs > longestDelayMs * 2) delayMs = firstDelayMs;
      await abortableDelay(delayMs, signal);
      delayMs = Math.min(delayMs * 2, longestDelayMs);
    }
  };
  const done = Promise.all(workers.map(supervise));

  return {
    failing: () => [...failing],
    async stop() {
      abort.abort();
      await done;
    },
  };
}
