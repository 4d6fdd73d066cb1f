import type { Queryable } from './queryable.ts';

const dayMs = 24 * 3_600_000;

/**
 * Tables of a schema that are partitioned by day (UTC). The schema's own functions make_partitions(first, last) and
 * drop_partitions(before) create and drop the partitions with the rights of the tables' owner.
 */
export interface DayPartitions {
  /** Creates missing partitions and returns their number. */
  make(db: Queryable): Promise<number>;
  /**
   * Drops partitions that are older than `retentionDays` by `agreed_now()` and no longer needed, one day per statement; returns their
   * number. Rejects with a timeout of PostgreSQL (see isTimeout) if another transaction uses the tables for longer than
   * the lock timeout. Blocks neither readers nor writers. A later call continues.
   */
  drop(db: Queryable, retentionDays: number): Promise<number>;
  /** Returns the age in days at which partitions are dropped: at least the maximum age of a row when it is inserted. */
  keptDays(retentionDays: number): number;
  /** Returns whether a row with time `atMs` has a partition. Both times are in milliseconds since 1970. */
  has(atMs: number, nowMs: number): boolean;
}

/** @param daysBack maximum age of a row when it is inserted, in days */
export function dayPartitions(
  schema: 'auth' | 'webhooks',
  { daysBack, daysAhead }: { daysBack: number; daysAhead: number },
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
          `select ${schema}.drop_partitions(${dayOf(`${schema}.agreed_now()`)} - $1::integer) as dropped`,
          [keptDays(retentionDays)],
        );
        const dropped = rows[0]?.dropped ?? 0;
        if (dropped === 0) return all;
        all += dropped;
      }
    },
    keptDays,
    has: (atMs, nowMs) => atMs > nowMs - daysBack * dayMs && atMs < nowMs + daysAhead * dayMs,
  };
}
