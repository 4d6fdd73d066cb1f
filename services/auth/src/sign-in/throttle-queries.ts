import type { Queryable } from '@rms/db';

/** How often something may be tried: `burst` times at once, then once every `everySeconds`. */
export interface Pace {
  readonly burst: number;
  readonly everySeconds: number;
}

/**
 * One attempt, by the generic cell rate algorithm: answers with the seconds to wait, 0 if it may be made, which it then
 * counts as. One statement, so that attempts side by side, at whatever instance, count one by one.
 */
export async function takeAttempt(db: Queryable, subject: Buffer, { burst, everySeconds }: Pace): Promise<number> {
  const { rows } = await db.query<{ wait_seconds: number }>(
    `with taken as (
       insert into auth.throttles as known (subject, arrival_at)
       values ($1, now() + $3 * interval '1 second')
           on conflict (subject) do update
          set arrival_at = greatest(known.arrival_at, now()) + $3 * interval '1 second'
        where greatest(known.arrival_at, now()) - now() <= ($2 - 1) * $3 * interval '1 second'
       returning 1
     )
     select case when exists (select from taken) then 0
                 else greatest(1, ceil(coalesce((
                        select extract(epoch from arrival_at - now()) - ($2::integer - 1) * $3::integer
                          from auth.throttles where subject = $1), 0)))
             end::integer as wait_seconds`,
    [subject, burst, everySeconds],
  );
  return rows[0]?.wait_seconds ?? 1;
}

/** Gives one attempt back that was no failure. */
export async function returnAttempt(db: Queryable, subject: Buffer, { everySeconds }: Pace): Promise<void> {
  await db.query(`update auth.throttles set arrival_at = arrival_at - $2 * interval '1 second' where subject = $1`, [
    subject,
    everySeconds,
  ]);
}

/** Forgets all attempts. */
export async function forgetAttempts(db: Queryable, subjects: readonly Buffer[]): Promise<void> {
  await db.query('delete from auth.throttles where subject = any($1::bytea[])', [subjects]);
}

/** Removes what holds nobody back any more. */
export async function trimThrottles(db: Queryable): Promise<void> {
  await db.query('delete from auth.throttles where arrival_at < now()');
}
