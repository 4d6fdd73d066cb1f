-- Events that are committed and not yet on the bus. A queue: rows live for milliseconds, so there is free room in each
-- page and vacuum comes early.
create table outbox.events (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           bigint generated always as identity,
  -- Hashed from the resource id; one batch at a time is published to each.
  partition    integer not null,
  event_id     text collate "C" not null,
  event_type   text not null,
  record_key   text collate "C" not null,
  request_id   text not null,
  traceparent  text not null,
  -- rms.events.v1.ResourceEvent
  payload      bytea not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, environment, id)
) with (
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 50000,
  autovacuum_vacuum_cost_delay = 0
);

-- The relay reads the oldest rows of a partition.
create index events_by_partition on outbox.events (partition, id);
