import type { Queryable } from '@rms/db';

/** Rows of one statement: each ends long before its deadline. */
const atOnce = 10_000;

/** How long counts are kept, by their period; months stay. */
const old = `(period = 'minute' and starts_at < now() - interval '2 days'
           or period = 'hour' and starts_at < now() - interval '35 days'
           or period = 'day' and starts_at < now() - interval '400 days')`;

/** Removes some of the counts that no chart and no rule looks at any more. Answers with how many; 0: none is left. */
export async function forgetCounts(db: Queryable): Promise<number> {
  let forgotten = 0;
  for (const table of ['alerts.request_counts', 'alerts.delivery_counts']) {
    const { rowCount } = await db.query(
      `delete from ${table} where ctid = any(array(select ctid from ${table} where ${old} limit ${atOnce}))`,
    );
    forgotten += rowCount ?? 0;
  }
  return forgotten;
}

/** Forgets processes that have ended: none tells its last report again after a day. */
export async function forgetReporters(db: Queryable): Promise<void> {
  await db.query(`delete from alerts.reporters where seen_at < now() - interval '1 day'`);
}
