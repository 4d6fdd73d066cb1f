-- Partitions are created and dropped without blocking readers and writers of the request log. The functions have the
-- same rules as those of webhooks, which state the reasons (services/webhooks/migrations/0006-partitions-without-blocking.sql).

-- Creates the missing partitions of the days from a day to another one. Returns how many.
create or replace function auth.make_partitions(first_day date, last_day date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  day date;
  name text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(7267005);
  for day in select generate_series(first_day, last_day, interval '1 day')::date loop
    name := 'requests_' || to_char(day, 'YYYYMMDD');
    continue when to_regclass('auth.' || name) is not null;
    execute format('create table auth.%I (like auth.requests including all)', name);
    execute format('alter table auth.requests attach partition auth.%I for values from (%L) to (%L)', name,
      day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
    made := made + 1;
  end loop;
  return made;
end
$$;

-- Drops the oldest partition of the days before a day. Returns how many, 0 if there is none. Raises lock_not_available if
-- the table is in use for longer; the caller tries again later.
create or replace function auth.drop_partitions(before date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
declare
  oldest regclass;
  holders text[];
begin
  if not pg_try_advisory_xact_lock(7267005) then
    raise lock_not_available using message = 'another session is creating or dropping partitions';
  end if;
  select c.oid into oldest from pg_inherits join pg_class as c on c.oid = inhrelid
   where inhparent = 'auth.requests'::regclass
     and c.relname ~ '_\d{8}$' and to_date(right(c.relname, 8), 'YYYYMMDD') < before
   order by right(c.relname, 8) limit 1;
  if oldest is null then
    return 0;
  end if;
  select array_agg(virtualtransaction) into holders from pg_locks
   where relation in (oldest, 'auth.requests'::regclass) and granted and pid is distinct from pg_backend_pid()
     and database = (select oid from pg_database where datname = current_database());
  if holders is not null then
    perform pg_sleep(0.2);
    if exists (select from pg_locks
                where relation in (oldest, 'auth.requests'::regclass) and granted and virtualtransaction = any(holders)
                  and database = (select oid from pg_database where datname = current_database())) then
      raise lock_not_available using message = format('a long transaction is using %s', oldest);
    end if;
  end if;
  lock table only auth.requests in access exclusive mode;
  execute format('drop table %s', oldest);
  return 1;
end
$$;
