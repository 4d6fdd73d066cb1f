import { Counter, type Registry } from '@prometheus-io/client';
import { abortableDelay, withDeadline } from '@rms/async';
import type { Logger } from '../logging/index.ts';
import { Gauge, type Metrics } from '../metrics/index.ts';
import type { Worker } from './worker.ts';

/**
 * Runs once per interval. The signal aborts when the worker stops and after the time that a task has per pass. The task
 * must end soon after that; its next run continues.
 */
export type HousekeepingTask = (signal: AbortSignal) => Promise<unknown>;

/** Housekeeping tasks by name. The name is a label of metrics and a field of logs. */
export type HousekeepingTasks = Readonly<
  Record<string, HousekeepingTask | { readonly run: HousekeepingTask; readonly everyMs: number }>
>;

/** Runs housekeeping tasks periodically. */
export interface Housekeeping extends Worker {
  /** Runs the tasks that are due, one after another. Never rejects. */
  pass(signal: AbortSignal): Promise<void>;
}

const failedEveryMs = 60_000;
const defaultTaskMs = 10_000;

/**
 * Creates the worker that runs each task every `everyMs`, one after another, in the given order. A task that needs more
 * than `taskMs` continues after the other tasks that are due. A failing task is logged and counted. It does not block
 * the other tasks, and is retried after at most a minute. A pass is successful if the last run of every task succeeded.
 */
export function createHousekeepingWorker(parts: {
  readonly tasks: HousekeepingTasks;
  /** Applies to tasks without their own interval. */
  readonly everyMs: number;
  /** Time of a task per pass, 10 s by default. */
  readonly taskMs?: number;
  readonly log: Logger;
  readonly metrics: Registry;
}): Housekeeping {
  const { log, metrics, taskMs = defaultTaskMs } = parts;
  const onSuccess = showHousekeeping(metrics);
  const failures = new Counter({
    name: 'rms_housekeeping_failures_total',
    help: 'Failed housekeeping tasks, by task.',
    labelNames: ['task'],
    registers: [metrics],
  });
  const tasks = Object.entries(parts.tasks).map(([task, of]) => ({
    task,
    ...(typeof of === 'function' ? { run: of, everyMs: parts.everyMs } : of),
    dueAtMs: Number.NEGATIVE_INFINITY,
    failed: false,
  }));
  for (const { task } of tasks) failures.inc({ task }, 0);

  const pass = async (signal: AbortSignal) => {
    for (const of of tasks) {
      if (signal.aborted) return;
      if (performance.now() < of.dueAtMs) continue;
      const deadline = withDeadline(signal, taskMs, `the housekeeping task ${of.task}`);
      let delayMs = of.everyMs;
      try {
        await of.run(deadline.signal);
        of.failed = false;
        if (deadline.signal.aborted) delayMs = 0;
      } catch (err) {
        of.failed = true;
        delayMs = Math.min(failedEveryMs, of.everyMs);
        failures.inc({ task: of.task });
        log.error({ err, task: of.task }, 'housekeeping task failed');
      } finally {
        deadline.end();
      }
      of.dueAtMs = performance.now() + delayMs;
    }
    if (!signal.aborted && tasks.every(({ failed }) => !failed)) onSuccess();
  };

  return {
    name: 'housekeeping',
    pass,
    async run(signal) {
      for (const of of tasks) of.dueAtMs = Number.NEGATIVE_INFINITY;
      while (!signal.aborted) {
        await pass(signal);
        const nextAtMs = Math.min(...tasks.map(({ dueAtMs }) => dueAtMs));
        await abortableDelay(Math.max(0, Math.ceil(nextAtMs - performance.now())), signal);
      }
    },
  };
}

/**
 * Registers a gauge for the last successful housekeeping run, and returns a function that sets it to the current time.
 * The initial value is the service's start.
 */
function showHousekeeping(metrics: Metrics): () => void {
  const gauge = new Gauge({
    name: 'rms_housekeeping_success_timestamp_seconds',
    help: 'Time of the last successful housekeeping run of the service, in Unix time; initially the start of the service.',
    registers: [metrics],
  });
  gauge.setToCurrentTime();
  return () => gauge.setToCurrentTime();
}
