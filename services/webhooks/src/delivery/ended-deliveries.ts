import type { Tenant } from '@rms/base/tenant';
import type { EndReason } from '@rms/base/webhook-events';
import type { Pool, Queryable, Queue } from '@rms/postgres/db';
import { Counter, type Metrics } from '@rms/runtime/metrics';
import type { AttemptCounter } from '../engine/record/recorder.ts';

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

/** A number of deliveries of a webhook that ended without an attempt. */
export interface EndCount extends Tenant {
  readonly webhookId: string;
  /** Empty: stored by the previous release. */
  readonly eventType: string;
  readonly reason: EndReason;
  readonly deliveries: number;
}

/** Takes up to `limit` counts that an `endStatement` has stored. Each count is returned to one instance. */
async function takeEndCounts(db: Queryable, limit: number): Promise<EndCount[]> {
  const { rows } = await db.query<EndCount>({
    name: 'take-end-counts',
    text: `
      delete from webhooks.end_counts as c
       where c.ctid = any(array(select ctid from webhooks.end_counts
                                 order by workspace_id, environment, id limit $1 for update skip locked))
      returning c.workspace_id as "workspaceId", c.environment, c.webhook_id as "webhookId", c.event_type as "eventType", c.reason,
                c.deliveries::float8 as deliveries`,
    values: [limit],
  });
  return rows;
}
