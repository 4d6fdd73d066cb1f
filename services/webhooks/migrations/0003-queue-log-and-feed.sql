-- What is under way is a queue, small however long the log is; what has ended is a log, written once and dropped by the
-- day; every event has a place in the feed of its workspace and environment (docs/adr/0010).

-- The first id of that kind of that moment: an id leads with the milliseconds of its time, 48 bits in ten characters of
-- Crockford's base 32.
create function webhooks.first_id(prefix text, at timestamptz) returns text language plpgsql immutable strict as $$
declare
  rest bigint := floor(extract(epoch from at) * 1000);
  text text := '';
begin
  for i in 1..10 loop
    text := substr('0123456789abcdefghjkmnpqrstvwxyz', (rest % 32)::integer + 1, 1) || text;
    rest := rest / 32;
  end loop;
  return prefix || '_' || text;
end
$$;

-- The events of a tenant are counted without gaps; whoever counts holds this row until its commit, so that they become
-- visible in their order.
create table webhooks.feeds (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  last_position bigint not null,
  primary key (workspace_id, environment)
) with (fillfactor = 50);

alter table webhooks.events rename to old_events;
alter table webhooks.old_events rename constraint events_pkey to old_events_pkey;
alter table webhooks.deliveries rename to old_deliveries;
alter table webhooks.old_deliveries rename constraint deliveries_pkey to old_deliveries_pkey;
drop index webhooks.events_by_request, webhooks.events_by_resource, webhooks.events_to_erase, webhooks.deliveries_due,
  webhooks.deliveries_by_webhook;

-- Every event, once, with the bytes that are delivered. The primary key holds the partition key, since an event that comes
-- again has the same id, and so the same partition: it alone is the deduplication.
create table webhooks.events (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  -- In the feed of its tenant; counts from 1.
  position     bigint not null,
  type         text not null,
  resource_id  text collate "C" not null,
  sequence     bigint not null,
  request_id   text not null,
  traceparent  text not null,
  -- Null once erased (ERASE_ON_DELETE).
  body         bytea,
  created_at   timestamptz not null,
  primary key (workspace_id, environment, id)
) partition by range (id);

create index events_by_position on webhooks.events (workspace_id, environment, position);
create index events_by_request on webhooks.events (workspace_id, environment, request_id);
create index events_by_resource on webhooks.events (workspace_id, environment, resource_id, id);
create index events_to_erase on webhooks.events (id) where type = 'resource.deleted' and body is not null;

-- What is under way: one event on its way to one webhook. A row goes into the log once it has ended.
create table webhooks.deliveries (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  id            text collate "C" not null,
  event_id      text collate "C" not null,
  webhook_id    text collate "C" not null,
  event_type    text not null,
  resource_id   text collate "C" not null,
  sequence      bigint not null,
  request_id    text not null,
  -- In the lane of its resource, behind earlier events of it.
  ordered       boolean not null default false,
  -- 'event'; 'redelivery' or the id of a replay for what was sent before.
  origin        text not null default 'event',
  -- All attempts ever, as the log shows them.
  attempts      jsonb not null default '[]',
  -- Attempts of this round, which a redelivery starts anew.
  tries         integer not null default 0,
  -- Counts leases: the result of an attempt decides only if its lease is still the last one.
  lease         integer not null default 0,
  -- When to attempt next. While an attempt is under way: when its lease ends, and another instance may attempt. Null: an
  -- earlier delivery of its lane is under way.
  due_at        timestamptz,
  created_at    timestamptz not null default now(),
  primary key (workspace_id, environment, id)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 0
);

create index deliveries_due on webhooks.deliveries (webhook_id, due_at);
create index deliveries_lanes on webhooks.deliveries (webhook_id, resource_id, sequence) where ordered;
create index deliveries_waiting on webhooks.deliveries (webhook_id, resource_id) where due_at is null;

-- What has ended.
create table webhooks.delivery_log (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  id            text collate "C" not null,
  event_id      text collate "C" not null,
  webhook_id    text collate "C" not null,
  event_type    text not null,
  resource_id   text collate "C" not null,
  request_id    text not null,
  -- 'skipped': its webhook was disabled when the event came.
  status        text not null check (status in ('delivered', 'failed', 'skipped')),
  origin        text not null,
  attempts      jsonb not null,
  -- The last one that it had in the queue, where a redelivery goes on counting.
  lease         integer not null default 0,
  created_at    timestamptz not null,
  ended_at      timestamptz not null default now(),
  primary key (workspace_id, environment, id)
) partition by range (id);

create index delivery_log_by_webhook on webhooks.delivery_log (workspace_id, environment, webhook_id, id);
create index delivery_log_undelivered on webhooks.delivery_log (workspace_id, environment, id)
  where status <> 'delivered';
create index delivery_log_undelivered_by_webhook on webhooks.delivery_log (workspace_id, environment, webhook_id, id)
  where status <> 'delivered';

-- Makes the partitions of the days from a day to another one that are missing. The service's role owns no table: this
-- runs with the rights of the owner.
create function webhooks.make_partitions(first_day date, last_day date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  day date;
  made integer := 0;
  part record;
begin
  perform pg_advisory_xact_lock(7267004);
  for day in select generate_series(first_day, last_day, interval '1 day')::date loop
    for part in select * from (values ('events', 'evt'), ('delivery_log', 'dlv')) as part (parent, prefix) loop
      continue when to_regclass(format('webhooks.%s_%s', part.parent, to_char(day, 'YYYYMMDD'))) is not null;
      execute format('create table webhooks.%I partition of webhooks.%I for values from (%L) to (%L)',
        part.parent || '_' || to_char(day, 'YYYYMMDD'), part.parent,
        webhooks.first_id(part.prefix, day::timestamp at time zone 'UTC'),
        webhooks.first_id(part.prefix, (day + 1)::timestamp at time zone 'UTC'));
      made := made + 1;
    end loop;
  end loop;
  return made;
end
$$;

-- Drops the partitions of the days before a day. Answers with how many.
create function webhooks.drop_partitions(before date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  old record;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(7267004);
  for old in
    select c.oid::regclass as name from pg_inherits
      join pg_class as c on c.oid = inhrelid
     where inhparent in ('webhooks.events'::regclass, 'webhooks.delivery_log'::regclass)
       and c.relname ~ '_\d{8}$' and to_date(right(c.relname, 8), 'YYYYMMDD') < before
  loop
    execute format('drop table %s', old.name);
    dropped := dropped + 1;
  end loop;
  return dropped;
end
$$;

-- A day more than there seem to be: it is the time in an event's id that counts, a moment before its creation.
select webhooks.make_partitions(
  least((now() at time zone 'UTC')::date, (select (min(created_at) at time zone 'UTC')::date from webhooks.old_events)) - 1,
  (now() at time zone 'UTC')::date + 7);

insert into webhooks.events (workspace_id, environment, id, position, type, resource_id, sequence, request_id, traceparent,
                             body, created_at)
select workspace_id, environment, id, row_number() over (partition by workspace_id, environment order by id), type,
       resource_id, sequence, request_id, traceparent, body, created_at
  from webhooks.old_events;

insert into webhooks.feeds (workspace_id, environment, last_position)
select workspace_id, environment, max(position) from webhooks.events group by workspace_id, environment;

create function pg_temp.attempts_of(delivery webhooks.old_deliveries) returns jsonb language sql as $$
  select coalesce(jsonb_agg(jsonb_build_object(
           'number', number, 'at', started_at, 'status_code', status_code, 'error', error, 'duration_ms', duration_ms,
           'response_bytes', translate(encode(response_body, 'base64'), E'\n', '')
         ) order by number), '[]')
    from webhooks.attempts as a
   where a.workspace_id = delivery.workspace_id and a.environment = delivery.environment
     and a.delivery_id = delivery.id
$$;

insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, sequence,
                                 request_id, attempts, tries, lease, due_at, created_at)
select d.workspace_id, d.environment, d.id, d.event_id, d.webhook_id, d.event_type, d.resource_id, e.sequence,
       d.request_id, pg_temp.attempts_of(d), d.tries, d.lease, d.due_at, d.created_at
  from webhooks.old_deliveries as d
  join webhooks.events as e
    on e.workspace_id = d.workspace_id and e.environment = d.environment and e.id = d.event_id
 where d.status = 'pending';

insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, request_id,
                                   status, origin, attempts, created_at)
select workspace_id, environment, id, event_id, webhook_id, event_type, resource_id, request_id, status, 'event',
       pg_temp.attempts_of(d), created_at
  from webhooks.old_deliveries as d
 where status <> 'pending';

drop function pg_temp.attempts_of(webhooks.old_deliveries);
drop table webhooks.attempts, webhooks.old_deliveries, webhooks.old_events;

alter table webhooks.webhooks
  -- One delivery of a resource at a time, in the order of its events.
  add column ordered               boolean not null default false,
  -- The delay before each retry; null: made from initial and longest delay.
  add column retry_delays_ms       bigint[],
  -- What deliveries are signed with as well until then, after a rotation with an overlap.
  add column previous_secret_sealed bytea,
  add column previous_secret_until timestamptz,
  -- PEM; the key is sealed, bound to the id.
  add column client_certificate    text,
  add column client_key_sealed     bytea,
  -- Since when no delivery has arrived; null: the last one has.
  add column failing_since         timestamptz;

-- What owners should hear of and is not on the bus yet.
create table webhooks.notices (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  type         text not null,
  subject_id   text collate "C" not null,
  reason       text not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, environment, id)
);

-- Deliveries of the log that are sent again, at a rate.
create table webhooks.replays (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  webhook_id   text collate "C" not null,
  statuses     text[] not null,
  event_type   text,
  since        timestamptz not null,
  until        timestamptz not null,
  per_second   integer not null,
  status       text not null check (status in ('running', 'done', 'cancelled')),
  total        bigint not null,
  replayed     bigint not null default 0,
  -- The last delivery that it has taken.
  last_id      text collate "C" not null default '',
  next_at      timestamptz not null default now(),
  created_by   text not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, environment, id)
);

create index replays_running on webhooks.replays (next_at) where status = 'running';
