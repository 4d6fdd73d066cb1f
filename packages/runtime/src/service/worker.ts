import { setMaxListeners } from 'node:events';
import { abortableDelay } from '@rms/async';
import type { Logger } from '../logging/index.ts';

/** A task that runs until its signal aborts. The supervisor restarts it if it returns or throws earlier. */
export interface Worker {
  readonly name: string;
  run(signal: AbortSignal, health?: WorkerHealth): Promise<void>;
}

/** Health reports of a running worker. A worker that never reports counts as healthy while it runs. */
export interface WorkerHealth {
  /** Reports success. After a failure, a worker that has reported before counts as failing until its next report. */
  working(): void;
  /** Reports that the worker is running but makes no progress. */
  stuck(): void;
}

/** The running workers of a service. */
export interface Supervisor {
  /** Names of the failing workers; empty if all are healthy. Used by readiness checks. */
  failing(): readonly string[];
  /** Aborts all workers and waits until each has drained. */
  stop(): Promise<void>;
}

const firstDelayMs = 100;
const maxDelayMs = 5_000;

/**
 * Runs workers concurrently and restarts a worker that ended, after a growing delay.
 *
 *   running ──ends or throws──► waiting (100 ms … 5 s) ──► running
 *      └───────────signal aborts───────────► stopped
 *
 * A worker counts as failing from its end until it runs again, or until it reports success if it reports at all.
 */
export function superviseWorkers(workers: readonly Worker[], log: Logger): Supervisor {
  const abort = new AbortController();
  const failing = new Set<string>();
  const { signal } = abort;
  // Every worker and every operation of a worker listens to this signal; many listeners are not a leak.
  setMaxListeners(0, signal);

  const supervise = async (worker: Worker) => {
    let delayMs = firstDelayMs;
    let signals = false;
    const health: WorkerHealth = {
      working() {
        signals = true;
        failing.delete(worker.name);
      },
      stuck: () => void failing.add(worker.name),
    };
    while (!signal.aborted) {
      const startedAtMs = performance.now();
      try {
        if (!signals) failing.delete(worker.name);
        await worker.run(signal, health);
        if (!signal.aborted) log.error({ worker: worker.name }, 'worker ended unexpectedly');
      } catch (error) {
        if (!signal.aborted) log.error({ worker: worker.name, err: error }, 'worker failed');
      }
      if (signal.aborted) return;
      failing.add(worker.name);
      if (performance.now() - startedAtMs > maxDelayMs * 2) delayMs = firstDelayMs;
      await abortableDelay(delayMs, signal);
      delayMs = Math.min(delayMs * 2, maxDelayMs);
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
