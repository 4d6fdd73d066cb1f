-- An event is in use while a delivery of it is queued, or while it is not yet fanned out to all webhooks. Its body and the
-- partitions of its day are kept until then (docs/adr/0010).

create index deferred_events_by_event on webhooks.deferred_events (event_id);

-- Whether an event of the tenant with an ID from `first` to `last` is in use. Event IDs and delivery IDs contain the time
-- of the event at the same place.
create function webhooks.in_use(workspace text, env text, first text, last text) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
  select exists (
           select from webhooks.deliveries
            where workspace_id = workspace and environment = env
              and id >= 'dlv_' || substr(first, 5, 10) and id < 'dlv_' || substr(last, 5, 10) || '~'
              and event_id >= first and event_id <= last)
      or exists (
           select from webhooks.deferred_events
            where event_id >= first and event_id <= last and workspace_id = workspace and environment = env)
$$;

-- Whether events of a day are in use. Skips from tenant to tenant, so that the cost does not grow with the backlog.
create or replace function webhooks.has_queued(day date) returns boolean
language sql stable set search_path = pg_catalog, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
  with recursive queued (workspace_id, environment) as (
    (select workspace_id, environment from webhooks.deliveries order by workspace_id, environment limit 1)
    union all
    select next.workspace_id, next.environment
      from queued as t
     cross join lateral (
           select workspace_id, environment from webhooks.deliveries
            where (workspace_id, environment) > (t.workspace_id, t.environment)
            order by workspace_id, environment limit 1) as next
  ), deferred (workspace_id, environment) as (
    (select workspace_id, environment from webhooks.deferred_events order by workspace_id, environment limit 1)
    union all
    select next.workspace_id, next.environment
      from deferred as t
     cross join lateral (
           select workspace_id, environment from webhooks.deferred_events
            where (workspace_id, environment) > (t.workspace_id, t.environment)
            order by workspace_id, environment limit 1) as next
  )
  select exists (
    select from (select * from queued union all select * from deferred) as t
     where webhooks.in_use(t.workspace_id, t.environment,
                           webhooks.first_id('evt', day::timestamp at time zone 'UTC'),
                           webhooks.first_id('evt', (day + 1)::timestamp at time zone 'UTC')))
$$;

-- Drops the partitions of the oldest day before a day that has no events in use. Returns how many partitions, 0 if there
-- is no such day. One day per call bounds the locks of a transaction.
--
-- A partition can only leave its parent under ACCESS EXCLUSIVE here: DETACH ... CONCURRENTLY runs in no function, and the
-- service's role owns no table. A waiting lock blocks every later statement, so the function does not wait for
-- long transactions: if one that already held a lock 200 ms ago still holds it, or if the locks are not free within 50 ms,
-- it raises lock_not_available, and the caller tries again later. Under the locks it checks only what can have become in
-- use since the full check, which takes longer the more tenants have a backlog: redeliveries and replays. Events of a
-- day that is dropped are too old to be stored.
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
    if exists (select from webhooks.deliveries
                where origin <> 'event'
                  and id >= webhooks.first_id('dlv', candidate::timestamp at time zone 'UTC')
                  and id < webhooks.first_id('dlv', (candidate + 1)::timestamp at time zone 'UTC')) then
      return 0;
    end if;
    execute 'drop table ' || array_to_string(names, ', ');
    return cardinality(names);
  end loop;
  return 0;
end
$$;
