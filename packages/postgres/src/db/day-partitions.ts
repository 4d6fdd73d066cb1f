import type { Queryable } from './statements.ts';

const dayMs = 24 * 3_600_000;

/**
 * Tables of a schema that are partitioned by day or month (UTC). The schema's own functions make_partitions(first, last)
 * and drop_partitions(before) create and drop the partitions that have these days.
 */
export interface DayPartitions {
  /** Creates missing partitions and returns their number. */
  make(db: Queryable): Promise<number>;
  /**
   * Drops partitions that are older than `retentionDays` by two clocks, and no longer needed, one period per statement.
   * Returns their number. Rejects with a timeout of PostgreSQL (see isTimeout) if another transaction uses the tables
   * for longer than the lock timeout. Blocks neither readers nor writers. A later call continues.
   */
  drop(db: Queryable, retentionDays: number): Promise<number>;
  /**
   * Returns the age in days of dropped partitions: at least the usual maximum age of a row when it is inserted.
   */
  keptDays(retentionDays: number): number;
  /**
   * Throws if the lock table of PostgreSQL is too small for the partitions of `retentionDays`. A statement without a
   * range of times locks every partition with its indexes, and as many statements may run as there are `connections`.
   * Resolves if the database is unreachable.
   * @param setting name of the setting that determines `retentionDays`
   */
  checkLocks(
    db: Queryable,
    needs: { readonly setting: string; readonly retentionDays: number; readonly connections: number },
  ): Promise<void>;
  /**
   * Creates the missing partitions of rows that are older than {@link make} expects. Times are in milliseconds since
   * 1970. Does nothing for other rows.
   */
  makeFor(db: Queryable, timesMs: readonly number[], nowMs: number): Promise<void>;
  /**
   * Returns whether a row with time `atMs` can be stored: whether it has a partition, after `makeFor`. Times are in
   * milliseconds since 1970.
   */
  accepts(atMs: number, nowMs: number, retentionDays: number): boolean;
}

/**
 * @param options.daysBack usual maximum age of a row when it is inserted, in days
 * @param options.expiryTime returns an SQL expression of the time that partitions expire by; default: the agreed time
 */
export function dayPartitions(
  schema: 'auth' | 'webhooks' | 'audit',
  {
    daysBack,
    daysAhead,
    expiryTime = () => `${schema}.agreed_now()`,
  }: { daysBack: number; daysAhead: number; expiryTime?: () => string },
): DayPartitions {
  const dayOf = (time: string) => `(${time} at time zone 'UTC')::date`;
  const today = dayOf('now()');
  const keptDays = (retentionDays: number) => Math.max(retentionDays, daysBack);
  return {
    async make(db) {
      const { rows } = await db.query<{ created: number }>(
        `select ${schema}.make_partitions(${today} - $1::integer, ${today} + $2::integer) as created`,
        [daysBack, daysAhead],
      );
      return rows[0]?.created ?? 0;
    },
    async drop(db, retentionDays) {
      for (let all = 0; ; ) {
        const { rows } = await db.query<{ dropped: number }>(
          `select ${schema}.drop_partitions(${dayOf(expiryTime())} - $1::integer) as dropped`,
          [keptDays(retentionDays)],
        );
        const dropped = rows[0]?.dropped ?? 0;
        if (dropped === 0) return all;
        all += dropped;
      }
    },
    keptDays,
    async checkLocks(db, { setting, retentionDays, connections }) {
      const space = await readLockSpace(db, schema).catch(() => undefined);
      if (!space) return;
      const { perTransaction, sessions, relations } = space;
      const locks = relations * (keptDays(retentionDays) + daysAhead + 2);
      // The table has entries for the locked objects, and twice as many for their holders.
      const needed = Math.ceil(Math.max(locks, (locks * connections) / 2) / sessions);
      if (needed <= perTransaction) return;
      throw new Error(
        `${setting}: ${retentionDays} daily partitions need max_locks_per_transaction of at least ${needed} in ` +
          `PostgreSQL, which has ${perTransaction}; increase it there, or choose fewer days`,
      );
    },
    async makeFor(db, timesMs, nowMs) {
      const old = timesMs.filter((atMs) => atMs <= nowMs - daysBack * dayMs);
      if (old.length === 0) return;
      const [first, last] = [Math.min(...old), Math.max(...old)].map((atMs) =>
        new Date(atMs).toISOString().slice(0, 10),
      );
      await db.query(`select ${schema}.make_partitions($1, $2)`, [first, last]);
    },
    accepts: (atMs, nowMs, retentionDays) =>
      atMs > nowMs - keptDays(retentionDays) * dayMs && atMs < nowMs + daysAhead * dayMs,
  };
}

interface LockSpace {
  /** Setting of the server. */
  readonly perTransaction: number;
  /** Number of sessions that the lock table has `perTransaction` entries for. */
  readonly sessions: number;
  /** Partitions of a day and their indexes, of all partitioned tables of the schema. */
  readonly relations: number;
}

async function readLockSpace(db: Queryable, schema: string): Promise<LockSpace | undefined> {
  const { rows } = await db.query<LockSpace>(
    `select current_setting('max_locks_per_transaction')::integer as "perTransaction",
            current_setting('max_connections')::integer + current_setting('max_prepared_transactions')::integer as sessions,
            count(distinct c.oid)::integer + count(i.indexrelid)::integer as relations
       from pg_partitioned_table as p
       join pg_class as c on c.oid = p.partrelid
       left join pg_index as i on i.indrelid = c.oid
      where c.relnamespace = $1::regnamespace`,
    [schema],
  );
  return rows[0];
}
