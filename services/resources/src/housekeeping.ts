import { createAgreedClock, type Pool } from '@rms/postgres/db';
import { deleteExpiredKeys } from '@rms/postgres/idempotency';
import { sweepDeletedWorkspaces } from '@rms/postgres/workspace-deletion';
import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import { createHousekeepingWorker, type Housekeeping } from '@rms/runtime/service';
import { contents } from './deletion/contents.ts';

const everyMs = 60_000;

/**
 * Creates the worker that deletes expired idempotency records (TTL 24 hours), and late rows of deleted workspaces.
 */
export function createHousekeeping({
  pool,
  log,
  metrics,
}: {
  pool: Pool;
  log: Logger;
  metrics: Metrics;
}): Housekeeping {
  return createHousekeepingWorker({
    everyMs,
    log,
    metrics,
    tasks: {
      // Before the tasks that delete by time.
      clock: createAgreedClock({ db: pool, schema: 'resources', metrics, log }),
      idempotency_keys: (signal) => deleteExpiredKeys(pool, 'resources', signal),
      deleted_workspaces: (signal) => sweepDeletedWorkspaces({ pool, contents, log }, signal),
    },
  });
}
