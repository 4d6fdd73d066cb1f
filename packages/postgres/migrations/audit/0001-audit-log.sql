-- The audit log (docs/adr/0008). Several services append to it, in the transaction of each change.

-- Changes, with who made them and the values before and after. Append-only, and partitioned by month (UTC): IDs begin
-- with the time, so they are the partition key.
create table audit.entries (
  -- Empty: the change concerns the whole installation.
  workspace_id text collate "C" not null,
  -- 'live' or 'sandbox'; empty: both.
  environment  text collate "C" not null,
  id           text collate "C" not null,
  created_at   timestamptz not null default now(),
  -- 'user:usr_…', 'key:key_…', 'operator:alice@laptop' or 'system'.
  actor        text not null,
  -- IP address of the client.
  address      text not null,
  request_id   text not null,
  action       text collate "C" not null,
  target_id    text collate "C" not null,
  details      jsonb not null,
  -- Names at the time of the change; empty: none was recorded.
  actor_name   text not null default '',
  target_name  text not null default '',
  -- An array of {field, before, after}.
  changes      jsonb not null default '[]',
  primary key (workspace_id, environment, id)
) partition by range (id);

-- Lists of a workspace, newest first: all entries, and those of one target.
create index entries_by_time on audit.entries (workspace_id, id desc);
create index entries_by_target on audit.entries (workspace_id, target_id, id desc);

-- Rejects changes of entries. It also applies to the owner of the table, which services are if they have no roles.
create function audit.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit entries stay as they are' using errcode = 'insufficient_privilege';
end
$$;

create trigger append_only before update or delete or truncate on audit.entries
  for each statement execute function audit.refuse_change();

-- Returns the least ID of an entry that was created at a time (docs/adr/0002).
create function audit.first_id(at timestamptz) returns text
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  rest bigint := floor(extract(epoch from at) * 1000);
  text text := '';
begin
  for i in 1..10 loop
    text := substr('0123456789abcdefghjkmnpqrstvwxyz', (rest % 32)::integer + 1, 1) || text;
    rest := rest / 32;
  end loop;
  return 'aud_' || text;
end
$$;

-- Creates the missing partitions of the months from a day to another one, and returns their number. Partitions are
-- created as in webhooks.make_partitions(), which explains why. The oldest partition contains all earlier months.
create function audit.make_partitions(first_day date, last_day date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  month date;
  name text;
  made integer := 0;
begin
  if last_day > (now() at time zone 'UTC')::date + 400 then
    raise invalid_parameter_value using message = 'partitions are created for at most 400 days';
  end if;
  perform pg_advisory_xact_lock(7267006);
  for month in
    select generate_series(date_trunc('month', first_day), date_trunc('month', last_day), interval '1 month')::date
  loop
    continue when month <= (select to_date(min(right(c.relname, 6)), 'YYYYMM') from pg_inherits
                              join pg_class as c on c.oid = inhrelid where inhparent = 'audit.entries'::regclass);
    name := 'entries_' || to_char(month, 'YYYYMM');
    continue when to_regclass('audit.' || name) is not null;
    execute format('create table audit.%I (like audit.entries including all)', name);
    execute format('create trigger append_only before update or delete or truncate on audit.%I
      for each statement execute function audit.refuse_change()', name);
    execute format('alter table audit.entries attach partition audit.%I for values from (%L) to (%L)', name,
      audit.first_id(month::timestamp at time zone 'UTC'),
      audit.first_id((month + interval '1 month') at time zone 'UTC'));
    made := made + 1;
  end loop;
  return made;
end
$$;

-- Drops the oldest partition if all its entries are older than a day, and returns the number of dropped partitions.
-- Raises lock_not_available if the table is in use for longer than the lock timeout; the caller tries again later.
create function audit.drop_partitions(before date) returns integer
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
declare
  oldest regclass;
begin
  if not pg_try_advisory_xact_lock(7267006) then
    raise lock_not_available using message = 'another session is creating or dropping partitions';
  end if;
  select c.oid into oldest from pg_inherits join pg_class as c on c.oid = inhrelid
   where inhparent = 'audit.entries'::regclass
     and to_date(right(c.relname, 6), 'YYYYMM') + interval '1 month' <= before
   order by right(c.relname, 6) limit 1;
  if oldest is null then
    return 0;
  end if;
  lock table only audit.entries in access exclusive mode;
  execute format('drop table %s', oldest);
  return 1;
end
$$;

-- Only the owner of the tables may call it: no service removes entries.
revoke execute on function audit.drop_partitions(date) from public;

-- The first partition contains the current month and everything before it.
do $$
declare
  month date := date_trunc('month', now() at time zone 'UTC');
  name text := 'entries_' || to_char(month, 'YYYYMM');
begin
  execute format('create table audit.%I (like audit.entries including all)', name);
  execute format('create trigger append_only before update or delete or truncate on audit.%I
    for each statement execute function audit.refuse_change()', name);
  execute format('alter table audit.entries attach partition audit.%I for values from (minvalue) to (%L)', name,
    audit.first_id((month + interval '1 month') at time zone 'UTC'));
end
$$;
select audit.make_partitions((now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + 92);

-- Limits how many changes of a subject are audited (packages/postgres/src/audit/pace.ts), by the generic cell rate
-- algorithm.
create table audit.throttles (
  -- A hash.
  subject    bytea primary key,
  -- Time at which the subject has its full burst again.
  arrival_at timestamptz not null
);

-- Housekeeping deletes counters that no longer limit anything.
create index throttles_by_arrival on audit.throttles (arrival_at);
