-- The time by which rows of this schema expire, as agreed by the clock of PostgreSQL and the monotonic clocks of the
-- instances (packages/db/src/agreed-clock.ts). No row: the clock has not been compared yet.
create table alerts.clock (
  single    boolean primary key default true check (single),
  agreed_at timestamptz not null
) with (fillfactor = 10);

-- The current time, but at most five minutes after the last agreed time: a clock that jumps ahead deletes nothing.
create function alerts.agreed_now() returns timestamptz language sql stable as $$
  select least(now(), (select agreed_at + interval '5 minutes' from alerts.clock))
$$;
