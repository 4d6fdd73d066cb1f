-- The audit log is partitioned by month (UTC). IDs lead with the time, so they are the partition key. No row is copied.
do $$
declare
  month text;
  part text;
  bound text;
  privilege record;
begin
  select substr(conname, 7), (regexp_match(pg_get_constraintdef(oid), '''(aud_[0-9a-z]+)'''))[1] into month, bound
    from pg_constraint where conrelid = 'audit.entries'::regclass and conname like 'until\_%';
  part := 'entries_' || month;
  execute format('alter table audit.entries rename to %I', part);
  execute format('alter table audit.%I rename constraint entries_pkey to %I', part, part || '_pkey');
  execute format('alter index audit.entries_by_time rename to %I', part || '_by_time');
  execute format('alter index audit.entries_by_target rename to %I', part || '_by_target');

  execute format('create table audit.entries (like audit.%I including defaults) partition by range (id)', part);
  alter table audit.entries add primary key (workspace_id, environment, id);
  create index entries_by_time on audit.entries (workspace_id, id desc);
  create index entries_by_target on audit.entries (workspace_id, target_id, id desc);
  create trigger append_only before update or delete or truncate on audit.entries
    for each statement execute function audit.refuse_change();
  execute format('alter table audit.entries attach partition audit.%I for values from (minvalue) to (%L)', part, bound);
  execute format('alter table audit.%I drop constraint %I', part, 'until_' || month);

  -- Services keep running during the migration.
  for privilege in
    select grantee, privilege_type from pg_class, aclexplode(relacl)
     where oid = format('audit.%I', part)::regclass and grantee not in (0, relowner)
  loop
    execute format('grant %s on audit.entries to %s', privilege.privilege_type, privilege.grantee::regrole);
  end loop;
end
$$;

-- Creates the missing partitions of the months from a day to another one. Returns how many. The rules of
-- services/webhooks/migrations/0006-partitions-without-blocking.sql apply. The oldest partition has all earlier months.
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

-- Drops the oldest partition that has no entries of a day or later days. Returns how many, 0 if there is none. Raises
-- lock_not_available if the table is in use for longer; the caller tries again later. Only the owner of the tables may
-- call it: no service removes entries.
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

revoke execute on function audit.drop_partitions(date) from public;

select audit.make_partitions((now() at time zone 'UTC')::date, (now() at time zone 'UTC')::date + 92);
