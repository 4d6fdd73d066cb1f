-- The position of the fan-out in each partition of the event topic, stored in the commit of its events (docs/adr/0030).
-- A database that goes back to an earlier state has the position of that state, so its events are read from Kafka again.
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

-- The number of times that the database has gone back, or events were lost in an unknown number. Each time, all positions
-- of feeds rise by 1,000,000, so that a reader whose position belongs to the lost state sees a gap. Feeds follow when they
-- are read or written, because there may be many.
create table webhooks.feed_epoch (
  single          boolean primary key default true check (single),
  epoch           integer not null,
  began_at        timestamptz not null,
  -- Workspaces with smaller IDs are older than the epoch.
  first_workspace text collate "C" not null
) with (fillfactor = 10);
insert into webhooks.feed_epoch (epoch, began_at, first_workspace) values (0, now(), '');

-- The epoch of last_position.
alter table webhooks.feeds add column epoch integer not null default 0;
