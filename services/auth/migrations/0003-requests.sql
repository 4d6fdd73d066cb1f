-- What gateways report of the requests that they have answered, for a number of days: what `rms trace` begins with.
create table auth.requests (
  -- Empty: the request has shown no key that is valid, and is nobody's.
  workspace_id     text collate "C" not null,
  environment      text collate "C" not null check (environment in ('live', 'sandbox')),
  -- The X-Request-ID; a client may send one again and again.
  request_id       text collate "C" not null,
  started_at       timestamptz not null,
  -- Empty: it was not traced.
  trace_id         text not null,
  method           text not null,
  -- As in the API's description: "/v1/resources/:id"; empty: there is no such address.
  route            text not null,
  -- 0: the client went away before it was answered.
  status           integer not null,
  -- Empty: none.
  error_code       text not null,
  key_id           text collate "C" not null,
  -- Answered from the record of its idempotency key.
  replayed         boolean not null,
  -- Milliseconds from its start until each step had ended; null: it did not come so far.
  authenticated_ms real,
  limited_ms       real,
  handled_ms       real,
  duration_ms      real not null,
  primary key (workspace_id, environment, request_id, started_at)
) partition by range (started_at);

-- Makes the partitions of the days from a day to another one that are missing. The service's role owns no table: this
-- runs with the rights of the owner.
create function auth.make_partitions(first_day date, last_day date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  day date;
  name text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(7267005);
  for day in select generate_series(first_day, last_day, interval '1 day')::date loop
    name := 'requests_' || to_char(day, 'YYYYMMDD');
    continue when to_regclass('auth.' || name) is not null;
    execute format('create table auth.%I partition of auth.requests for values from (%L) to (%L)', name,
      day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
    made := made + 1;
  end loop;
  return made;
end
$$;

-- Drops the partitions of the days before a day. Answers with how many.
create function auth.drop_partitions(before date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old record;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(7267005);
  for old in
    select c.oid::regclass as name from pg_inherits
      join pg_class as c on c.oid = inhrelid
     where inhparent = 'auth.requests'::regclass
       and c.relname ~ '_\d{8}$' and to_date(right(c.relname, 8), 'YYYYMMDD') < before
  loop
    execute format('drop table %s', old.name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end
$$;

select auth.make_partitions((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date + 7);
