import type pg from 'pg';

export type Pool = pg.Pool;
export type PoolClient = pg.PoolClient;

/** A pool, or a client inside a transaction. First argument of every named query. */
export type Queryable = Pick<pg.Pool | pg.PoolClient, 'query'>;
