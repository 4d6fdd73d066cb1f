export { createAgreedClock } from './agreed-clock.ts';
export type { DatabaseClock } from './database-clock.ts';
export { createDatabaseWatch, type DatabaseTime } from './database-watch.ts';
export { type DayPartitions, dayPartitions } from './day-partitions.ts';
export { deleteInBatches } from './delete-in-batches.ts';
export { createDiskSpaceWatch, type DiskSpaceWatch } from './disk-space-watch.ts';
export { inOneRoundTrip, type Statement } from './in-one-round-trip.ts';
export { inTransaction } from './in-transaction.ts';
export { isolateRejected, type Rejected } from './isolate-rejected.ts';
export { type Migration, type MigrationResult, migrate } from './migrate.ts';
export { type OpenPoolOptions, openPool } from './open-pool.ts';
export {
  cutPage,
  makePageToken,
  type PageRows,
  type PageStart,
  readFullPage,
  readPageToken,
  readsPerPage,
  tokensOf,
} from './paging.ts';
export { isRefusal, isRowError, isTimeout, translatePgError } from './pg-errors.ts';
export { createPool, type PoolOptions } from './pool.ts';
export { showPools } from './pool-gauges.ts';
export { checkPrimary, connectionLifetimeSeconds, openSession } from './primary.ts';
export type { Pool, PoolClient, Queryable } from './queryable.ts';
export { createQueue, type Queue } from './queue.ts';
export { type Grants, roleName, type ServiceRole } from './roles.ts';
export { roundRobin } from './round-robin.ts';
export { statementWith } from './statement-with.ts';
export { type Pace, type ThrottleTable, throttleTable } from './throttle.ts';
