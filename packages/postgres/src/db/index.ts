export { createAgreedClock } from './agreed-clock.ts';
export { createDatabaseWatch, type DatabaseClock, type DatabaseTime } from './database-watch.ts';
export { type DayPartitions, dayPartitions } from './day-partitions.ts';
export { deleteInBatches } from './delete-in-batches.ts';
export { createDiskSpaceWatch, type DiskSpaceWatch } from './disk-space-watch.ts';
export { type Migration, type MigrationResult, migrate } from './migrate.ts';
export {
  cutPage,
  firstWithin,
  makePageToken,
  type PageRows,
  type PageStart,
  pageBytes,
  readFullPage,
  readPageToken,
  readsPerPage,
  tokensOf,
} from './paging.ts';
export { isolateRejected, isRefusal, isRowError, isTimeout, type Rejected, translatePgError } from './pg-errors.ts';
export { createPool, type OpenPoolOptions, openPool, type PoolOptions, showPools } from './pool.ts';
export { checkPrimary, connectionLifetimeSeconds, openSession } from './primary.ts';
export { createQueue, type Queue } from './queue.ts';
export { type Grants, roleName, type ServiceRole } from './roles.ts';
export { roundRobin } from './round-robin.ts';
export {
  inOneRoundTrip,
  inTransaction,
  type Pool,
  type PoolClient,
  type Queryable,
  type Statement,
  statementWith,
} from './statements.ts';
export { type Pace, type ThrottleTable, throttleTable } from './throttle.ts';
