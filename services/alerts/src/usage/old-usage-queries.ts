import type { Queryable } from '@rms/db';
import type { Period } from './usage.ts';

/** Rows of one statement: each ends long before its deadline. */
const atOnce = 10_000;

/** How long counts are kept, in days; months stay. */
const keptDays: readonly (readonly [Period, days: number])[] = [
  ['minute', 2],
  ['hour', 35],
  ['day', 400],
];

/** Removes some of the counts that no chart and no rule looks at any more. Answers with how many; 0: none is left. */
export async function forgetCounts(db: Queryable): Promise<number> {
  let forgotten = 0;
  for (const table of ['alerts.request_counts', 'alerts.delivery_counts']) {
    for (const [period, days] of keptDays) {
      const { rowCount } = await db.query(
        `delete from ${table} where ctid = any(array(
           select ctid from ${table} where period = $1 and starts_at < now() - make_interval(days => $2) limit ${atOnce}))`,
        [period, days],
      );
      forgotten += rowCount ?? 0;
    }
  }
  return forgotten;
}

/** Forgets processes that have ended: none tells its last report again after a day. */
export async function forgetReporters(db: Queryable): Promise<void> {
  await db.query(`delete from alerts.reporters where seen_at < now() - interval '1 day'`);
}
