import type { Pool } from '@rms/postgres/db';
import { createDatabaseHousekeeping } from '@rms/postgres/housekeeping';
import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import type { Housekeeping } from '@rms/runtime/service';
import { contents } from './deletion/contents.ts';

const everyMs = 60_000;

/** Creates the worker that deletes expired idempotency records (TTL 24 hours), and late rows of deleted workspaces. */
export function createHousekeeping(parts: { pool: Pool; log: Logger; metrics: Metrics }): Housekeeping {
  return createDatabaseHousekeeping({ ...parts, contents, everyMs, tasks: {} });
}
