export { inTransaction } from './in-transaction.ts';
export { type Migration, type MigrationResult, migrate } from './migrate.ts';
export { translatePgError } from './pg-errors.ts';
export { createPool, openPool, type PoolOptions } from './pool.ts';
export type { Pool, PoolClient, Queryable } from './queryable.ts';
export { type Grants, roleName, type ServiceRole } from './roles.ts';
