import type { Queryable } from './queryable.ts';

const dayMs = 24 * 3_600_000;

/**
 * Tables of a schema that have a partition for each day (UTC), which its own functions make_partitions(first, last) and
 * drop_partitions(before) make and drop with the rights of their owner.
 */
export interface DayPartitions {
  /** Makes those that are missing; answers with how many. */
  make(db: Queryable): Promise<number>;
  /** Drops what is older than so many days, and not needed any more; answers with how many. */
  drop(db: Queryable, retentionDays: number): Promise<number>;
  /** Whether something of that time has a partition to go into; milliseconds since 1970. */
  has(atMs: number, nowMs: number): boolean;
}

/** @param daysBack how old something may be when it comes */
export function dayPartitions(
  schema: 'auth' | 'webhooks',
  { daysBack, daysAhead }: { daysBack: number; daysAhead: number },
): DayPartitions {
  const today = "(now() at time zone 'UTC')::date";
  return {
    async make(db) {
      const { rows } = await db.query<{ made: number }>(
        `select ${schema}.make_partitions(${today} - $1::integer, ${today} + $2::integer) as made`,
        [daysBack, daysAhead],
      );
      return rows[0]?.made ?? 0;
    },
    async drop(db, retentionDays) {
      const { rows } = await db.query<{ dropped: number }>(
        `select ${schema}.drop_partitions(${today} - $1::integer) as dropped`,
        [Math.max(retentionDays, daysBack)],
      );
      return rows[0]?.dropped ?? 0;
    },
    has: (atMs, nowMs) => atMs > nowMs - daysBack * dayMs && atMs < nowMs + daysAhead * dayMs,
  };
}
