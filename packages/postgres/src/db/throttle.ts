import { deleteInBatches } from './delete-in-batches.ts';
import type { Queryable } from './statements.ts';

/** Limit on attempts: `burst` attempts immediately, then one attempt every `everySeconds`. */
export interface Pace {
  readonly burst: number;
  readonly everySeconds: number;
}

/** Tolerance for transactions that began at different times. */
const toleranceSeconds = 60;
const isImpossible = `known.arrival_at > now() + ($2 * $3 + ${toleranceSeconds}) * interval '1 second'`;

/** Counters of attempts by subject, shared by all instances. */
export interface ThrottleTable {
  /**
   * Counts one attempt by the generic cell rate algorithm. Returns 0 if the attempt is allowed, otherwise the seconds
   * to wait. A single statement does this, so concurrent attempts at several instances are counted one by one. A stored
   * time later than the burst allows means that the clock was set back; it counts as a used burst.
   */
  take(db: Queryable, subject: Buffer, pace: Pace): Promise<number>;
  /** Refunds one attempt. */
  release(db: Queryable, subject: Buffer, pace: Pace): Promise<void>;
  /** Resets the counters of these subjects. */
  forget(db: Queryable, subjects: readonly Buffer[]): Promise<void>;
  /** Deletes counters that no longer limit anything. */
  trim(db: Queryable, signal?: AbortSignal): Promise<void>;
}

/**
 * Returns a throttle table's queries.
 * @param table name with schema; columns: subject bytea primary key, arrival_at timestamptz
 */
export function throttleTable(table: `${string}.throttles`): ThrottleTable {
  return {
    async take(db, subject, { burst, everySeconds }) {
      const { rows } = await db.query<{ wait_seconds: number }>(
        `with taken as (
           insert into ${table} as known (subject, arrival_at)
           values ($1, now() + $3 * interval '1 second')
               on conflict (subject) do update
              set arrival_at = case when ${isImpossible} then now() + $2 * $3 * interval '1 second'
                                    else greatest(known.arrival_at, now()) + $3 * interval '1 second' end
            where greatest(known.arrival_at, now()) - now() <= ($2 - 1) * $3 * interval '1 second' or ${isImpossible}
           returning 1
         )
         select case when exists (select from taken) then 0
                     else greatest(1, ceil(coalesce((
                            select extract(epoch from arrival_at - now()) - ($2::integer - 1) * $3::integer
                              from ${table} where subject = $1), 0)))
                 end::integer as wait_seconds`,
        [subject, burst, everySeconds],
      );
      return rows[0]?.wait_seconds ?? 1;
    },
    async release(db, subject, { everySeconds }) {
      await db.query(`update ${table} set arrival_at = arrival_at - $2 * interval '1 second' where subject = $1`, [
        subject,
        everySeconds,
      ]);
    },
    async forget(db, subjects) {
      await db.query(`delete from ${table} where subject = any($1::bytea[])`, [subjects]);
    },
    async trim(db, signal) {
      await deleteInBatches(db, table, { where: 'arrival_at < now()' }, signal);
    },
  };
}
