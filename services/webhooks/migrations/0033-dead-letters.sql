-- Dead letters: records of the event topic that could not be stored as events, unchanged, with the reason of the last
-- try (docs/adr/0026).
create table webhooks.dead_letters (
  -- Of the event. Both are empty if the record does not contain a valid tenant.
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

create unique index dead_letters_by_digest on webhooks.dead_letters (workspace_id, environment, digest);
create unique index dead_letters_by_id on webhooks.dead_letters (id);
create index dead_letters_parked on webhooks.dead_letters (workspace_id, environment, id) where parked;
create index dead_letters_by_time on webhooks.dead_letters (stored_at) where not parked;
