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

-- Deliveries of a webhook that failed without an attempt of their own, and canceled ones.
alter table webhooks.attempt_counts
  add column ended    bigint not null default 0,
  add column canceled bigint not null default 0;
