-- Partitions are created and dropped without blocking readers and writers of the tables, and a day stays in the log as
-- long as deliveries of it are queued (docs/adr/0010).

-- Why a delivery ended without using up its retries: 'expired' (its day was about to leave the log). Null: no reason
-- other than its attempts.
alter table webhooks.delivery_log add column end_reason text;

-- Creates the missing partitions of the days from a day to another one. Returns how many. A partition is created as a
-- separate table and attached: ATTACH takes SHARE UPDATE EXCLUSIVE on the parent, which blocks neither readers nor writers,
-- whereas CREATE TABLE ... PARTITION OF takes ACCESS EXCLUSIVE. The table is empty, so ATTACH has nothing to validate.
create or replace function webhooks.make_partitions(first_day date, last_day date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  day date;
  made integer := 0;
  part record;
  name text;
begin
  perform pg_advisory_xact_lock(7267004);
  for day in select generate_series(first_day, last_day, interval '1 day')::date loop
    for part in select * from (values ('events', 'evt'), ('delivery_log', 'dlv')) as part (parent, prefix) loop
      name := part.parent || '_' || to_char(day, 'YYYYMMDD');
      continue when to_regclass('webhooks.' || name) is not null;
      execute format('create table webhooks.%I (like webhooks.%I including all)', name, part.parent);
      execute format('alter table webhooks.%I attach partition webhooks.%I for values from (%L) to (%L)',
        part.parent, name,
        webhooks.first_id(part.prefix, day::timestamp at time zone 'UTC'),
        webhooks.first_id(part.prefix, (day + 1)::timestamp at time zone 'UTC'));
      made := made + 1;
    end loop;
  end loop;
  return made;
end
$$;

-- Whether deliveries of a day are queued. Skips from tenant to tenant, so that the cost does not grow with the backlog.
create function webhooks.has_queued(day date) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
  with recursive tenants (workspace_id, environment) as (
    (select workspace_id, environment from webhooks.deliveries order by workspace_id, environment limit 1)
    union all
    select next.workspace_id, next.environment
      from tenants as t
     cross join lateral (
           select workspace_id, environment from webhooks.deliveries
            where (workspace_id, environment) > (t.workspace_id, t.environment)
            order by workspace_id, environment limit 1) as next
  )
  select exists (
    select from tenants as t
     cross join lateral (
           select from webhooks.deliveries as d
            where d.workspace_id = t.workspace_id and d.environment = t.environment
              and d.id >= webhooks.first_id('dlv', day::timestamp at time zone 'UTC')
              and d.id < webhooks.first_id('dlv', (day + 1)::timestamp at time zone 'UTC')
            limit 1) as queued)
$$;

-- Drops the partitions of the oldest day before a day that has no queued deliveries. Returns how many partitions, 0 if
-- there is no such day. One day per call bounds the locks of a transaction.
--
-- A partition can only leave its parent under ACCESS EXCLUSIVE here: DETACH ... CONCURRENTLY runs in no function, and the
-- service's role owns no table. A waiting lock blocks every later statement, so the function does not wait for
-- long transactions: if one that already held a lock 200 ms ago still holds it, or if the locks are not free within 50 ms,
-- it raises lock_not_available, and the caller tries again later.
create or replace function webhooks.drop_partitions(before date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
declare
  candidate date;
  names text[];
  tables oid[];
  holders text[];
begin
  if not pg_try_advisory_xact_lock(7267004) then
    raise lock_not_available using message = 'another session is creating or dropping partitions';
  end if;
  for candidate in
    select distinct to_date(right(c.relname, 8), 'YYYYMMDD') as day from pg_inherits join pg_class as c on c.oid = inhrelid
     where inhparent in ('webhooks.events'::regclass, 'webhooks.delivery_log'::regclass) and c.relname ~ '_\d{8}$'
       and to_date(right(c.relname, 8), 'YYYYMMDD') < before
     order by day
  loop
    continue when webhooks.has_queued(candidate);
    select array_agg(c.oid), array_agg(c.oid::regclass::text) into tables, names
      from pg_inherits join pg_class as c on c.oid = inhrelid
     where inhparent in ('webhooks.events'::regclass, 'webhooks.delivery_log'::regclass)
       and right(c.relname, 9) = '_' || to_char(candidate, 'YYYYMMDD');
    tables := tables || array['webhooks.events'::regclass::oid, 'webhooks.delivery_log'::regclass::oid];

    select array_agg(virtualtransaction) into holders from pg_locks
     where relation = any(tables) and granted and pid is distinct from pg_backend_pid()
       and database = (select oid from pg_database where datname = current_database());
    if holders is not null then
      perform pg_sleep(0.2);
      if exists (select from pg_locks
                  where relation = any(tables) and granted and virtualtransaction = any(holders)
                    and database = (select oid from pg_database where datname = current_database())) then
        raise lock_not_available using message = format('a long transaction is using the tables of %s', candidate);
      end if;
    end if;
    lock table only webhooks.events, only webhooks.delivery_log in access exclusive mode;
    -- A redelivery may have been committed in the meantime. None can be in progress now.
    if webhooks.has_queued(candidate) then
      return 0;
    end if;
    execute 'drop table ' || array_to_string(names, ', ');
    return cardinality(names);
  end loop;
  return 0;
end
$$;
