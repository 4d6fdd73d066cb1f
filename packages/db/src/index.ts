export { inTransaction } from './in-transaction.ts';
export { type Migration, type MigrationResult, migrate } from './migrate.ts';
export { type OpenPoolOptions, openPool } from './open-pool.ts';
export { isRefusal, isTimeout, translatePgError } from './pg-errors.ts';
export { createPool, type PoolOptions } from './pool.ts';
export { showPools } from './pool-gauges.ts';
export type { Pool, PoolClient, Queryable } from './queryable.ts';
export { type Grants, roleName, type ServiceRole } from './roles.ts';
export { createRoomWatch, type RoomWatch } from './room-watch.ts';
