import type { Pool, Queue } from '@rms/postgres/db';
import { Counter, type Metrics } from '@rms/runtime/metrics';
import type { AttemptCounter } from '../engine/record/recorder.ts';
import { type EndCount, takeEndCounts } from './end-count-queries.ts';

/** Counts attempts, and deliveries that ended without one. */
export interface DeliveryCounter extends AttemptCounter {
  countEnds(ends: readonly EndCount[]): void;
}

/** Counts ended deliveries in `rms_deliveries_ended_total`. */
export function createEndCounter(metrics: Metrics): DeliveryCounter {
  const ended = new Counter({
    name: 'rms_deliveries_ended_total',
    help: 'Ended deliveries by status (delivered, failed, canceled) and end reason ("none" if delivered).',
    labelNames: ['environment', 'status', 'reason'],
    registers: [metrics],
  });
  return {
    count(recordings) {
      for (const { job, settlement } of recordings) {
        const { status, endReason: reason = 'none' } = settlement;
        if (status !== 'pending') ended.inc({ environment: job.environment, status, reason });
      }
    },
    countEnds(ends) {
      for (const { environment, reason, deliveries } of ends)
        ended.inc({ environment, status: reason === 'canceled' ? reason : 'failed', reason }, deliveries);
    },
  };
}

const countsPerStatement = 1_000;

/**
 * Creates the task that passes the counts of deliveries that ended without an attempt to the counters.
 * @param queue the queue of these counts
 */
export function createEndCountTask(
  pool: Pool,
  queue: Pick<Queue, 'mayHaveRows'>,
  counters: readonly DeliveryCounter[],
): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    if (!queue.mayHaveRows) return;
    let taken: EndCount[];
    do {
      taken = await takeEndCounts(pool, countsPerStatement);
      for (const counter of counters) counter.countEnds(taken);
    } while (taken.length === countsPerStatement && !signal.aborted);
  };
}
