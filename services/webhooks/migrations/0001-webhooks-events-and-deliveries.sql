-- Webhooks, the event feed, and deliveries: queued ones, the log of ended ones, and their schedule (docs/adr/0010 and
-- docs/adr/0025).

-- Webhooks

-- Subscriptions of a URL to event types.
create table webhooks.webhooks (
  workspace_id           text collate "C" not null,
  environment            text collate "C" not null,
  id                     text collate "C" not null,
  url                    text not null,
  -- Event types, or '*' alone.
  events                 text[] not null,
  status                 text not null check (status in ('active', 'disabled')),
  -- 'manual', 'gone' (the endpoint responded with 410) or 'failing'. Null: the webhook is active.
  disable_reason         text,
  -- Signing secret, encrypted with AES-256-GCM and bound to the ID.
  secret_sealed          bytea not null,
  -- Counts rotations; part of the key of cached secrets.
  secret_version         integer not null default 1,
  max_retries            integer not null,
  initial_delay_ms       bigint not null,
  max_delay_ms           bigint not null,
  created_at             timestamptz not null,
  updated_at             timestamptz not null,
  -- Whether the deliveries of a resource are sent one at a time, in the order of its events.
  ordered                boolean not null default false,
  -- Delay before each retry. Null: computed from initial_delay_ms and max_delay_ms.
  retry_delays_ms        bigint[],
  -- Secret before the last rotation, with which deliveries are also signed until the end of the overlap.
  previous_secret_sealed bytea,
  previous_secret_until  timestamptz,
  -- PEM. The private key is encrypted and bound to the ID.
  client_certificate     text,
  client_key_sealed      bytea,
  -- Time since which no delivery has succeeded. Null: the last one has.
  failing_since          timestamptz,
  -- Time since which an instance has the circuit of the endpoint open. Null: it is closed.
  circuit_open_since     timestamptz,
  -- At most 500 characters.
  description            text not null default '',
  -- Limits of the attempts of all instances. requests_per_second is null: no limit per second.
  max_concurrency        integer not null default 32 check (max_concurrency between 1 and 1000),
  requests_per_second    double precision check (requests_per_second between 0.01 and 10000),
  primary key (workspace_id, environment, id)
);

-- Operators find the workspace of a webhook by its ID alone. A hash index has no order, so lists of one workspace,
-- ordered by ID, never use it.
create index webhooks_by_id on webhooks.webhooks using hash (id);
-- Each instance checks at its start that it has the encryption keys of all secrets, without reading all webhooks.
create index webhooks_by_key on webhooks.webhooks (substring(secret_sealed from 1 for 4));
-- Webhooks whose deliveries may wait for their rate limit, for the gauges.
create index webhooks_rate_limited on webhooks.webhooks (id) where requests_per_second is not null;

-- Health of a webhook: its attempts, added up over five minutes and over an hour (docs/adr/0019). Slots are reused, so
-- a webhook has at most 14 rows of five minutes and 26 rows of an hour.
create table webhooks.attempt_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  webhook_id   text collate "C" not null,
  period       text collate "C" not null check (period in ('five_minutes', 'hour')),
  -- Number of the period since 1970, modulo the number of slots.
  slot         smallint not null,
  starts_at    timestamptz not null,
  -- Attempts by result: successful, followed by a retry, and the last one of a failed delivery.
  delivered    bigint not null,
  retried      bigint not null,
  failed       bigint not null,
  -- Attempts by error and by duration. The meaning of an element never changes.
  errors       bigint[] not null,
  latencies    bigint[] not null,
  -- Deliveries that failed without an attempt of their own, and canceled ones.
  ended        bigint not null default 0,
  canceled     bigint not null default 0,
  primary key (workspace_id, environment, webhook_id, period, slot),
  foreign key (workspace_id, environment, webhook_id) references webhooks.webhooks on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Test deliveries of a tenant in the current minute, which are limited so that tests cannot flood an endpoint.
create table webhooks.test_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  starts_at    timestamptz not null,
  tests        integer not null,
  primary key (workspace_id, environment)
) with (fillfactor = 50);

-- Notices for owners that are not on the bus yet, for example that a webhook was disabled.
create table webhooks.notices (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  type         text not null,
  subject_id   text collate "C" not null,
  reason       text not null,
  created_at   timestamptz not null default now(),
  -- Order of the notices of a webhook: assigned while the transaction holds the lock of the webhook's row.
  sequence     bigint generated always as identity,
  primary key (workspace_id, environment, id)
);

-- Notices are read in their order and deleted by ID, however many are queued.
create index notices_by_sequence on webhooks.notices (sequence);
create index notices_by_id on webhooks.notices (id);

-- Responses to requests with an Idempotency-Key, for 24 hours.
create table webhooks.idempotency_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key          text collate "C" not null,
  fingerprint  bytea not null,
  -- rms.webhooks.v1.CreateWebhookResponse, encrypted because it contains the secret.
  answer       bytea not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key)
);

-- Housekeeping deletes expired rows.
create index idempotency_keys_by_expiry on webhooks.idempotency_keys (expires_at);

-- The event feed

-- Returns the least ID of a kind that was made at a time: an ID begins with the milliseconds of its time, 48 bits in
-- ten characters of Crockford's base 32 (docs/adr/0002).
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

-- The last position of each feed. A transaction that stores events locks the row until its commit, so that positions
-- have no gaps and become visible in order.
create table webhooks.feeds (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  last_position bigint not null,
  -- The epoch of last_position.
  epoch         integer not null default 0,
  primary key (workspace_id, environment)
) with (fillfactor = 50);

-- Number of times that the database has gone back to an earlier state, or an unknown number of events was lost
-- (docs/adr/0030). Each time, the positions of all feeds rise by 1,000,000, so that a reader with a position of the
-- lost state finds a gap. A feed follows when it is read or written, because there may be many.
create table webhooks.feed_epoch (
  single          boolean primary key default true check (single),
  epoch           integer not null,
  began_at        timestamptz not null,
  -- Workspaces with smaller IDs are older than the epoch.
  first_workspace text collate "C" not null
) with (fillfactor = 10);
insert into webhooks.feed_epoch (epoch, began_at, first_workspace) values (0, now(), '');

-- All events, with the bytes that are delivered. Partitioned by day (UTC). An event that arrives again has the same ID
-- and therefore the same partition, so the primary key alone removes duplicates.
create table webhooks.events (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  id            text collate "C" not null,
  -- In the feed of the tenant, from 1. The API calls it sequence.
  position      bigint not null,
  type          text not null,
  resource_id   text collate "C" not null,
  -- Version of the resource.
  sequence      bigint not null,
  request_id    text not null,
  traceparent   text not null,
  -- Null: erased (ERASE_ON_DELETE).
  body          bytea,
  created_at    timestamptz not null,
  -- Record of the event in the topic, and time at which the event was stored, for `rms trace`. Null: unknown.
  bus_partition integer,
  bus_offset    bigint,
  stored_at     timestamptz,
  -- Who made the change: 'key:key_…' or 'user:usr_…'; empty: unknown.
  actor         text not null default '',
  -- W3C tracestate of the request, sent with the traceparent of each attempt; at most 512 characters. Null: none.
  tracestate    text,
  primary key (workspace_id, environment, id)
) partition by range (id);

-- Pages of the feed.
create index events_by_position on webhooks.events (workspace_id, environment, position);
-- Events of a request, for `rms trace`. Their deliveries are found by the time in the event ID.
create index events_by_request on webhooks.events (workspace_id, environment, request_id);
-- Events of a resource.
create index events_by_resource on webhooks.events (workspace_id, environment, resource_id, id);
-- Deleted resources with events that still have bodies (ERASE_ON_DELETE).
create index events_to_erase on webhooks.events (id) where type = 'resource.deleted' and body is not null;

-- Position of the fan-out in each partition of the event topic, stored in the commit of its events (docs/adr/0030). A
-- database that goes back to an earlier state has the position of that state, so its events are read from Kafka again.
create table webhooks.positions (
  topic         text collate "C" not null,
  bus_partition integer not null,
  -- Offset of the next record.
  next_offset   bigint not null,
  -- Digest of the record before next_offset, by which a topic is recognized. Null: there is none.
  last_record   text collate "C",
  stored_at     timestamptz not null,
  primary key (topic, bus_partition)
) with (fillfactor = 10);

-- Records that Kafka lost before they were consumed.
create table webhooks.losses (
  id            bigint generated always as identity primary key,
  topic         text collate "C" not null,
  bus_partition integer not null,
  -- The lost offsets: from the first to before the second. Null: unknown.
  from_offset   bigint,
  to_offset     bigint,
  -- Number of lost records. Null: unknown.
  records       bigint,
  -- 'deleted': Kafka deleted the records. 'replaced': the topic was created again, or its log was truncated.
  reason        text not null,
  found_at      timestamptz not null
);

-- Dead letters: records of the event topic that could not be stored as events, unchanged, with the reason of the last
-- try (docs/adr/0026).
create table webhooks.dead_letters (
  -- Tenant of the event. Both are empty if the record does not contain a valid tenant.
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  -- In the order of arrival, which is the order of the topic for the records of a partition.
  id            bigint not null generated always as identity,
  -- SHA-256 of topic, partition, key and value, so that a record that arrives again changes nothing. The offset is not
  -- part of it: offsets begin at 0 again when a topic is recreated, and when the in-process bus starts.
  digest        bytea not null,
  topic         text not null,
  bus_partition integer not null,
  bus_offset    bigint not null,
  -- Keys and headers can contain characters that text and jsonb cannot store.
  key           bytea not null,
  value         bytea not null,
  headers       json not null,
  -- Parked: it is tried again, and while the tenant has parked records, its new records are parked too. Others are kept
  -- until an operator replays them or their retention ends.
  parked        boolean not null,
  -- Result of the last try.
  reason        text not null,
  error         text not null,
  stored_at     timestamptz not null default now(),
  primary key (workspace_id, environment, id)
) with (autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);

-- Finds a record that arrives again.
create unique index dead_letters_by_digest on webhooks.dead_letters (workspace_id, environment, digest);
-- Operators list and replay dead letters by ID alone.
create unique index dead_letters_by_id on webhooks.dead_letters (id);
-- Parked records of a tenant, in the order in which they are stored.
create index dead_letters_parked on webhooks.dead_letters (workspace_id, environment, id) where parked;
-- Housekeeping deletes kept records at the end of their retention.
create index dead_letters_by_time on webhooks.dead_letters (stored_at) where not parked;

-- Events that are stored and not yet fanned out to all webhooks of their tenant. One event may match thousands of
-- webhooks, and its deliveries are created in chunks; the last chunk deletes the row. Events of a tenant are fanned out
-- in feed order: while the tenant has rows here, its new events are added here.
create table webhooks.deferred_events (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  -- In the feed of the tenant.
  position      bigint not null,
  event_id      text collate "C" not null,
  -- The last webhook whose deliveries are stored; empty: none. Chunks follow the order of webhook IDs.
  after_webhook text collate "C" not null default '',
  primary key (workspace_id, environment, position)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

-- Whether an event is in use (webhooks.in_use()).
create index deferred_events_by_event on webhooks.deferred_events (event_id);

-- Deliveries

-- Queued deliveries: one event for one webhook. A row moves to the log when the delivery ends. The ID is computed from
-- event and webhook, and begins with the time of the event, so that a repeated event finds its own row (docs/adr/0006).
create table webhooks.deliveries (
  workspace_id         text collate "C" not null,
  environment          text collate "C" not null,
  id                   text collate "C" not null,
  event_id             text collate "C" not null,
  webhook_id           text collate "C" not null,
  event_type           text not null,
  resource_id          text collate "C" not null,
  sequence             bigint not null,
  request_id           text not null,
  -- Whether the delivery is in the lane of its resource, behind the earlier events of the resource.
  ordered              boolean not null default false,
  -- 'event'; for a delivery that is sent again, 'redelivery' or the ID of a replay.
  origin               text not null default 'event',
  -- The attempts that the log shows, bounded by webhooks.kept_attempts().
  attempts             jsonb not null default '[]',
  -- Attempts since the delivery was queued. A redelivery begins again with 0.
  tries                integer not null default 0,
  -- Counts leases. The result of an attempt is discarded if its lease is not the last one.
  lease                integer not null default 0,
  -- Time of the next attempt. During an attempt: end of the lease, when another instance may attempt. Null: an earlier
  -- delivery of its lane is queued.
  due_at               timestamptz,
  created_at           timestamptz not null default now(),
  -- Number of all attempts, stored or not. Null: the number of the last stored one.
  attempt_count        integer,
  -- The last attempt without headers and body. Null: taken from the stored attempts.
  last_attempt         jsonb,
  -- Number of times that the delivery was sent again, by redeliveries and replays.
  redeliveries         integer not null default 0,
  -- End of the lease of the instance that attempts the delivery. Null: no attempt is in flight.
  leased_until         timestamptz,
  -- Whether a redelivery was requested during an attempt. If the attempt fails, the delivery is due immediately.
  redelivery_requested boolean not null default false,
  primary key (workspace_id, environment, id)
) with (
  fillfactor = 70,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_insert_scale_factor = 0.02,
  autovacuum_vacuum_cost_delay = 0
);

-- Leases the due deliveries of a webhook.
create index deliveries_due on webhooks.deliveries (webhook_id, due_at);
-- The first delivery of a lane.
create index deliveries_lanes on webhooks.deliveries (webhook_id, resource_id, sequence) where ordered;
-- Lanes whose first delivery is not due, although no earlier one is queued.
create index deliveries_waiting on webhooks.deliveries (webhook_id, resource_id) where due_at is null;
-- Deliveries that moved from the log back to the queue. Read under the locks with which a day is dropped.
create index deliveries_again on webhooks.deliveries (id) where origin <> 'event';

-- The delivery log: ended deliveries. Partitioned by day (UTC).
create table webhooks.delivery_log (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  id            text collate "C" not null,
  event_id      text collate "C" not null,
  webhook_id    text collate "C" not null,
  event_type    text not null,
  resource_id   text collate "C" not null,
  request_id    text not null,
  -- 'skipped': the webhook was disabled when the event arrived.
  status        text not null check (status in ('delivered', 'failed', 'skipped')),
  -- As in webhooks.deliveries, or 'test'.
  origin        text not null,
  attempts      jsonb not null,
  -- The last lease in the queue, from which a redelivery continues to count.
  lease         integer not null default 0,
  created_at    timestamptz not null,
  ended_at      timestamptz not null default now(),
  -- Why the delivery was not delivered (packages/base/src/webhook-events/end-reasons.ts). Null: not recorded.
  end_reason    text,
  -- As in webhooks.deliveries.
  attempt_count integer,
  last_attempt  jsonb,
  redeliveries  integer not null default 0,
  -- Body of a test delivery, which has no event in the feed. Null: the body is in webhooks.events.
  body          bytea,
  primary key (workspace_id, environment, id)
) partition by range (id);

-- Lists of deliveries of a webhook, and of deliveries that were not delivered, of a tenant or a webhook.
create index delivery_log_by_webhook on webhooks.delivery_log (workspace_id, environment, webhook_id, id);
create index delivery_log_undelivered on webhooks.delivery_log (workspace_id, environment, id)
  where status <> 'delivered';
create index delivery_log_undelivered_by_webhook on webhooks.delivery_log (workspace_id, environment, webhook_id, id)
  where status <> 'delivered';

-- Returns the attempts of a delivery that are stored: at most 100 attempts and 256 KiB. Keeps the first 10 within 64
-- KiB and the last 90 within 192 KiB, and always the first and the last one. An attempt has at most about 64 KiB.
create function webhooks.kept_attempts(attempts jsonb) returns jsonb
language plpgsql immutable strict parallel safe as $$
begin
  -- The concatenation expands a compressed value, which pg_column_size() would underestimate.
  if jsonb_array_length(attempts) <= 100 and pg_column_size(attempts || '[]') <= 262144 then
    return attempts;
  end if;
  return (
    select jsonb_agg(one order by place)
      from (
        select one, place, count(*) over () as total,
               sum(pg_column_size(one)) over (order by place) as bytes_from_first,
               sum(pg_column_size(one)) over (order by place desc) as bytes_from_last
          from jsonb_array_elements(attempts) with ordinality as each (one, place)
      ) as each
     where place = 1 or place = total
        or (place <= 10 and bytes_from_first <= 65536)
        or (place > total - 90 and bytes_from_last <= 196608));
end
$$;

-- Returns an attempt without its headers and its body, as lists show it.
create function webhooks.attempt_summary(attempt jsonb) returns jsonb
language sql immutable strict parallel safe
  return attempt - '{request_headers,response_headers,response_body,response_bytes}'::text[];

-- Numbers an attempt, appends it to the stored ones and bounds them.
create function webhooks.add_attempt(stored jsonb, attempt jsonb, out attempts jsonb, out attempt_count integer,
                                     out last_attempt jsonb)
language plpgsql immutable parallel safe as $$
begin
  attempt_count := coalesce((stored -> -1 ->> 'number')::integer, 0) + 1;
  attempt := jsonb_set(attempt, '{number}', to_jsonb(attempt_count));
  attempts := webhooks.kept_attempts(stored || attempt);
  last_attempt := webhooks.attempt_summary(attempt);
end
$$;

-- Numbers of deliveries that ended without an attempt, written by the statements that end them. An instance takes the
-- rows every two seconds and adds them to the counts of attempts.
create table webhooks.end_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           bigint generated always as identity,
  webhook_id   text collate "C" not null,
  reason       text not null,
  deliveries   bigint not null,
  primary key (workspace_id, environment, id)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- Replays: deliveries of the log that are sent again, at a limited rate.
create table webhooks.replays (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  webhook_id   text collate "C" not null,
  -- The deliveries: those with one of these statuses and this type (null: any), created from since to until.
  statuses     text[] not null,
  event_type   text,
  since        timestamptz not null,
  until        timestamptz not null,
  per_second   integer not null,
  status       text not null check (status in ('running', 'done', 'cancelled')),
  -- Number of deliveries to replay, and of those that are replayed.
  total        bigint not null,
  replayed     bigint not null default 0,
  -- The last delivery that was replayed; empty: none.
  last_id      text collate "C" not null default '',
  -- Time of the next step.
  next_at      timestamptz not null default now(),
  created_by   text not null,
  created_at   timestamptz not null default now(),
  -- Failed steps since the last successful one.
  failures     integer not null default 0,
  primary key (workspace_id, environment, id)
);

-- Operators find the workspace of a replay by its ID alone, as for webhooks.
create index replays_by_id on webhooks.replays using hash (id);
-- Takes the replay whose next step is due.
create index replays_running on webhooks.replays (next_at) where status = 'running';
-- Limits the running replays of a workspace.
create index replays_running_by_workspace on webhooks.replays (workspace_id) where status = 'running';
-- Housekeeping deletes old replays.
create index replays_ended on webhooks.replays (created_at) where status <> 'running';

-- The schedule

-- One row per webhook that has had deliveries (docs/adr/0025). A poll reads the due rows, so its cost does not depend
-- on the number of queued deliveries or their webhooks.
create table webhooks.endpoints (
  webhook_id   text collate "C" primary key,
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  -- Not earlier than not_before, and not later than the earliest due_at of the webhook's deliveries or, if that is
  -- later, not_before. Null: no delivery has a due_at.
  next_due_at  timestamptz,
  -- Earliest time of the next lease: the next probe of an open circuit, or the next attempt that the rate limit allows.
  -- Null: immediately.
  not_before   timestamptz,
  -- The pause before the next probe of an open circuit, without jitter; 0: the circuit is closed.
  pause_ms     integer not null default 0,
  -- When the circuit opened. Null: it is closed.
  open_since   timestamptz,
  -- 1 from the time at which slow or failed attempts have reduced an instance's limit to 1 until the endpoint has
  -- recovered, so that other instances, also restarted ones, begin with a single attempt. Null: only the webhook's
  -- max_concurrency applies.
  concurrency  integer,
  -- The time of the next attempt at exactly the webhook's requests_per_second. Null: no limit per second, or no attempt
  -- has been counted.
  rate_at      timestamptz
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);

-- A poll reads the endpoints that are due.
create index endpoints_due on webhooks.endpoints (next_due_at) where next_due_at is not null;
-- Endpoints with an open circuit, for the gauges.
create index endpoints_open on webhooks.endpoints (pause_ms) where pause_ms > 0;
-- Deletes the endpoints of a workspace.
create index endpoints_by_workspace on webhooks.endpoints (workspace_id, webhook_id);

-- Returns the end of a pause of an endpoint: of its circuit (up to 15 seconds), of a lease (20 seconds) or of its rate
-- limit (up to 100 seconds). Returns null, so no pause, if it is more than two minutes ahead: the clock was set back in
-- between.
create function webhooks.pause_end(at timestamptz) returns timestamptz language sql stable as $$
  select case when at <= now() + interval '2 minutes' then at end
$$;

-- Moves next_due_at to a new, earlier due_at, but not before not_before. Locks the endpoints in the order of their IDs,
-- even if it changes nothing. A lease locks them first and reads the deliveries afterwards. It therefore finds every
-- delivery that was stored before, and a delivery that is stored afterwards finds the next_due_at of the lease.
create function webhooks.schedule_deliveries() returns trigger
language plpgsql as $$
begin
  insert into webhooks.endpoints as e (webhook_id, workspace_id, environment, next_due_at)
  select webhook_id, min(workspace_id), min(environment), min(due_at)
    from changed where due_at is not null group by webhook_id order by webhook_id
      on conflict (webhook_id) do update
     set next_due_at = greatest(excluded.next_due_at, webhooks.pause_end(e.not_before))
   where e.next_due_at is null or e.next_due_at > greatest(excluded.next_due_at, webhooks.pause_end(e.not_before));
  return null;
end
$$;

create trigger schedule_inserted after insert on webhooks.deliveries
  referencing new table as changed for each statement execute function webhooks.schedule_deliveries();
create trigger schedule_updated after update on webhooks.deliveries
  referencing new table as changed for each statement execute function webhooks.schedule_deliveries();

-- The running instances, which share the concurrency limits of webhooks.
create table webhooks.instances (
  id      text primary key,
  seen_at timestamptz not null
);

-- Partitions of events and delivery_log

-- Creates the missing partitions of the days from a day to another one, and returns their number. The service's role
-- owns no table, so the function runs with the privileges of the owner. A partition is created as a separate table and
-- attached: ATTACH takes SHARE UPDATE EXCLUSIVE on the parent, which blocks neither readers nor writers, whereas CREATE
-- TABLE ... PARTITION OF takes ACCESS EXCLUSIVE. The table is empty, so ATTACH has nothing to validate.
create function webhooks.make_partitions(first_day date, last_day date) returns integer
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

-- Returns whether an event of the tenant with an ID from `first` to `last` is in use: a delivery of it is queued, or it
-- is not yet fanned out to all webhooks. Its body and the partitions of its day are kept until then. Event IDs and
-- delivery IDs contain the time of the event at the same place.
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

-- Returns whether events of a day are in use. Skips from tenant to tenant, so that the cost does not grow with the
-- backlog.
create function webhooks.has_queued(day date) returns boolean
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

-- Drops the partitions of the oldest day before a day that has no events in use. Returns how many partitions, 0 if
-- there is no such day. One day per call bounds the locks of a transaction.
--
-- A partition can only leave its parent under ACCESS EXCLUSIVE here: DETACH ... CONCURRENTLY runs in no function, and
-- the service's role owns no table. A waiting lock blocks every later statement, so the function does not wait for long
-- transactions: if one that already held a lock 200 ms ago still holds it, or if the locks are not free within 50 ms,
-- it raises lock_not_available, and the caller tries again later. Under the locks it checks only what can have become
-- in use since the full check, which takes longer the more tenants have a backlog: redeliveries and replays. Events of
-- a day that is dropped are too old to be stored.
create function webhooks.drop_partitions(before date) returns integer
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

-- The ID of an event contains a time shortly before its creation, so the first partition is the one of yesterday.
select webhooks.make_partitions((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date + 7);

-- Deletion and expiry

-- Deleted workspaces whose rows that arrive later are deleted too (packages/postgres/src/workspace-deletion).
create table webhooks.deleted_workspaces (
  workspace_id text collate "C" primary key,
  deleted_at   timestamptz not null default now(),
  -- Number of deleted rows by table.
  deleted_rows jsonb not null default '{}',
  -- Time of the next search for late rows.
  sweep_at     timestamptz not null
) with (fillfactor = 50);

-- Housekeeping takes the workspaces that are due.
create index deleted_workspaces_by_sweep on webhooks.deleted_workspaces (sweep_at);

-- The time by which rows of this schema expire, agreed by the clock of PostgreSQL and the monotonic clocks of the
-- instances (packages/postgres/src/db/agreed-clock.ts). No row: the clock has not been compared yet.
create table webhooks.clock (
  single    boolean primary key default true check (single),
  agreed_at timestamptz not null
) with (fillfactor = 10);

-- Returns the current time, but at most five minutes after the last agreed time: a clock that jumps ahead deletes
-- nothing.
create function webhooks.agreed_now() returns timestamptz language sql stable as $$
  select least(now(), (select agreed_at + interval '5 minutes' from webhooks.clock))
$$;
