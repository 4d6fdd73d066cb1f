import type { Queryable } from '@rms/db';
import type { Period } from './usage.ts';

/** Rows per statement, so that each statement ends long before its deadline. */
const rowsPerStatement = 1_000;

/** Retention in days. Monthly counts are kept forever. */
const keptDays: readonly (readonly [Period, days: number])[] = [
  ['minute', 2],
  ['hour', 35],
  ['day', 400],
];

/** Deletes up to `rowsPerStatement` expired counts per table and period. Returns the number of deleted counts. */
export async function forgetCounts(db: Queryable): Promise<number> {
  let forgotten = 0;
  for (const table of ['alerts.request_counts', 'alerts.delivery_counts']) {
    for (const [period, days] of keptDays) {
      const { rowCount } = await db.query(
        `delete from ${table} where ctid = any(array(
           select ctid from ${table} where period = $1 and starts_at < now() - make_interval(days => $2)
            order by starts_at limit ${rowsPerStatement}))`,
        [period, days],
      );
      forgotten += rowCount ?? 0;
    }
  }
  return forgotten;
}

/** Deletes reporters without a report for seven days. A process retries a report for at most six days. */
export async function forgetReporters(db: Queryable): Promise<void> {
  await db.query(`delete from alerts.reporters where seen_at < now() - interval '7 days'`);
}
