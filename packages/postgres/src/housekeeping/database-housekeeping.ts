import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import { createHousekeepingWorker, type Housekeeping, type HousekeepingTasks } from '@rms/runtime/service';
import { createAgreedClock, type Pool } from '../db/index.ts';
import { deleteExpiredKeys } from '../idempotency/index.ts';
import { sweepDeletedWorkspaces, type WorkspaceContents } from '../workspace-deletion/index.ts';

/**
 * Creates the worker that runs a service's tasks, and those of every service with a database: the agreed clock, the
 * deletion of expired idempotency records, and of late rows of deleted workspaces.
 */
export function createDatabaseHousekeeping(parts: {
  readonly pool: Pool;
  readonly contents: WorkspaceContents;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Interval of tasks without their own. */
  readonly everyMs: number;
  readonly tasks: HousekeepingTasks;
}): Housekeeping {
  const { pool, contents, log, metrics, everyMs, tasks } = parts;
  const { schema } = contents;
  return createHousekeepingWorker({
    everyMs,
    log,
    metrics,
    tasks: {
      // Before the tasks that delete by time.
      clock: createAgreedClock({ db: pool, schema, metrics, log }),
      ...tasks,
      idempotency_keys: (signal) => deleteExpiredKeys(pool, schema, signal),
      deleted_workspaces: (signal) => sweepDeletedWorkspaces({ pool, contents, log }, signal),
    },
  });
}
