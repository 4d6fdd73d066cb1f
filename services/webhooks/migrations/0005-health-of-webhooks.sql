-- The health of a webhook at the same cost however long the log is (docs/adr/0010): what its attempts came to, added up
-- over five minutes and over an hour. Slots are used again: a webhook has 14 rows of the one and 26 of the other at most.
alter table webhooks.webhooks
  -- Since when an instance leaves its endpoint alone but for one attempt now and then; null: none does.
  add column circuit_open_since timestamptz;

create table webhooks.attempt_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  webhook_id   text collate "C" not null,
  period       text collate "C" not null check (period in ('five_minutes', 'hour')),
  -- The number of the period, counted from 1970, modulo that of the slots.
  slot         smallint not null,
  starts_at    timestamptz not null,
  -- Attempts by what followed: no other one was needed, another one, none.
  delivered    bigint not null,
  retried      bigint not null,
  failed       bigint not null,
  -- Attempts by what went wrong, and by how long they took; what each place stands for never changes.
  errors       bigint[] not null,
  latencies    bigint[] not null,
  primary key (workspace_id, environment, webhook_id, period, slot),
  foreign key (workspace_id, environment, webhook_id) references webhooks.webhooks on delete cascade
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
