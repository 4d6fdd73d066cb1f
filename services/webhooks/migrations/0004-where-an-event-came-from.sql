-- Where on the bus an event was read, and when it was stored: what the time line of a request shows. Null: it was stored
-- before that was noted.
alter table webhooks.events
  add column bus_partition integer,
  add column bus_offset    bigint,
  add column stored_at     timestamptz;
