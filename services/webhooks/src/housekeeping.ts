import { type Pool, type Queue, roundRobin } from '@rms/postgres/db';
import { createDatabaseHousekeeping } from '@rms/postgres/housekeeping';
import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import type { Housekeeping } from '@rms/runtime/service';
import { createEndCountTask, type DeliveryCounter } from './delivery/ended-deliveries.ts';
import { createErasure } from './delivery/erasure.ts';
import { deleteExpired, failExpiring, readTenantsWithOld } from './delivery/expiry-queries.ts';
import { trimReplays } from './delivery/replay-queries.ts';
import { createLaneScan } from './engine/lease/lane-queries.ts';
import { repairSchedule } from './engine/lease/schedule-queries.ts';
import type { RejectedReporter } from './engine/rejected-reporter.ts';
import { deleteExpiredLetters } from './event/dead-letter-queries.ts';
import { logPartitions } from './event/partitions.ts';
import { contents } from './workspace/contents.ts';

const everyMs = 60_000;
/** Interval of the tasks with results that users or deliveries await. */
const soonMs = 2_000;
/** Endpoints per statement, and statements per run. The next run continues after them. */
const endpointsRead = 1_000;
const endpointPages = 10;

export interface HousekeepingParts {
  readonly pool: Pool;
  /** The deliveries that wait in lanes. */
  readonly lanes: Pick<Queue, 'mayHaveRows'>;
  /** The queue of counts of deliveries that ended without an attempt. */
  readonly endCounts: Pick<Queue, 'mayHaveRows'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly eraseOnDelete: boolean;
  readonly retentionDays: number;
  /** Count the deliveries that ended without an attempt. */
  readonly counters: readonly DeliveryCounter[];
  readonly reportRejected: RejectedReporter;
}

/**
 * Creates the worker that creates partitions for the coming days and deletes expired data: queued deliveries and log
 * partitions, dead letters and ended replays older than the retention, idempotency records after 24 hours, late rows of deleted
 * workspaces and webhooks, and, if enabled, event bodies of deleted resources. It also counts the deliveries that ended
 * without an attempt, and makes deliveries due that no end of a predecessor has made due.
 */
export function createHousekeeping(parts: HousekeepingParts): Housekeeping {
  const { pool, lanes, endCounts, log, metrics, eraseOnDelete, retentionDays, counters } = parts;
  return createDatabaseHousekeeping({
    pool,
    contents,
    log,
    metrics,
    everyMs,
    tasks: {
      ended_deliveries: { everyMs: soonMs, run: createEndCountTask(pool, endCounts, counters) },
      lanes: { everyMs: soonMs, run: createLaneScan(pool, lanes) },
      make_partitions: () => logPartitions.make(pool),
      // Before the partitions are dropped: a day with queued deliveries is kept.
      expired_deliveries: (signal) => endExpired(parts, signal),
      async drop_partitions() {
        const dropped = await logPartitions.drop(pool, retentionDays);
        if (dropped > 0) log.info({ dropped, retention_days: retentionDays }, 'expired log partitions dropped');
      },
      async dead_letters(signal) {
        const deleted = await deleteExpiredLetters(pool, logPartitions.keptDays(retentionDays), signal);
        if (deleted > 0) log.warn({ deleted, retention_days: retentionDays }, 'expired dead letters deleted');
      },
      replays: (signal) => trimReplays(pool, retentionDays, signal),
      schedule: createScheduleRepair(pool),
      ...(eraseOnDelete && { erasure: { everyMs: soonMs, run: createErasure(pool, log) } }),
    },
  });
}

/** Creates the task that repairs the schedule; see {@link repairSchedule}. */
function createScheduleRepair(pool: Pool): (signal: AbortSignal) => Promise<void> {
  let after = '';
  return async (signal) => {
    for (let page = 0; page < endpointPages && !signal.aborted; page += 1) {
      after = (await repairSchedule(pool, after, endpointsRead)) ?? '';
      if (after === '') return;
    }
  };
}

/**
 * Ends the queued deliveries that have reached the retention. They fail a day before their log partition is dropped, so
 * that the reason can be read. Deliveries that are still queued when the partition is due to be dropped are deleted.
 * Tenants are served round-robin.
 */
async function endExpired({ pool, log, retentionDays, reportRejected }: HousekeepingParts, signal: AbortSignal) {
  const keptDays = logPartitions.keptDays(retentionDays);
  const failedDays = logPartitions.keptDays(retentionDays - 1);
  const tenants = await readTenantsWithOld(pool, failedDays);
  const works = tenants.map((tenant) => ({ tenant, deleting: true, after: '', deleted: 0, ended: 0 }));
  const step = async (work: (typeof works)[number]) => {
    const { tenant } = work;
    if (work.deleting) {
      const deleted = await deleteExpired(pool, tenant, keptDays);
      work.deleted += deleted;
      work.deleting = deleted > 0;
      return true;
    }
    const { ended, rejected, last } = await failExpiring(pool, tenant, failedDays, work.after);
    reportRejected(rejected);
    work.ended += ended;
    work.after = last ?? '';
    return last !== undefined;
  };
  try {
    await roundRobin(works, step, signal);
  } finally {
    for (const { tenant, deleted, ended } of works) {
      if (deleted + ended === 0) continue;
      const { workspaceId, environment } = tenant;
      log.warn({ workspace_id: workspaceId, environment, ended, deleted }, 'queued deliveries reached the retention');
    }
  }
}
