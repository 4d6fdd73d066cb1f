-- The outbox: events of committed changes that are not yet in the event topic (docs/adr/0005).

-- A queue. Rows live for milliseconds, so vacuum runs after a fixed number of changes.
create table outbox.events (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  -- Order of publication within a partition.
  id           bigint generated always as identity,
  -- Hash of the resource ID. The relay publishes one batch of a partition at a time.
  partition    integer not null,
  event_id     text collate "C" not null,
  event_type   text not null,
  -- Key of the record in Kafka: the resource ID.
  record_key   text collate "C" not null,
  request_id   text not null,
  traceparent  text not null,
  -- rms.events.v1.ResourceEvent
  payload      bytea not null,
  created_at   timestamptz not null default now(),
  -- W3C tracestate of the request, at most 512 characters. Null: none.
  tracestate   text,
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
