import type pg from 'pg';

export type Pool = pg.Pool;
export type PoolClient = pg.PoolClient;

/** What a query needs: a pool, or a client inside a transaction. Always the first argument of a named query. */
export type Queryable = Pick<pg.Pool | pg.PoolClient, 'query'>;
