import type { Queryable } from '@rms/db';

/** Events come from the bus at most so many days after they were made. */
const daysBack = 8;
const daysAhead = 7;

/** Makes the partitions that the events of the next days, and of those that are still on the bus, go into. */
export async function makePartitions(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ made: number }>(
    "select webhooks.make_partitions((now() at time zone 'UTC')::date - $1::integer, (now() at time zone 'UTC')::date + $2::integer) as made",
    [daysBack, daysAhead],
  );
  return rows[0]?.made ?? 0;
}

/** Drops what is older than so many days; answers with how many partitions. */
export async function dropPartitions(db: Queryable, retentionDays: number): Promise<number> {
  const { rows } = await db.query<{ dropped: number }>(
    "select webhooks.drop_partitions((now() at time zone 'UTC')::date - $1::integer) as dropped",
    [Math.max(retentionDays, daysBack)],
  );
  return rows[0]?.dropped ?? 0;
}

/** Whether an event of that time has a partition to go into. */
export function hasPartition(atMs: number, nowMs: number): boolean {
  const dayMs = 24 * 3_600_000;
  return atMs > nowMs - daysBack * dayMs && atMs < nowMs + daysAhead * dayMs;
}
