-- Operational events about keys, written in the transaction of the change, until the webhooks service has stored them.
create table auth.operational_events (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  -- rms.events.v1.ResourceEvent
  record       bytea not null,
  primary key (workspace_id, environment, id)
) with (autovacuum_vacuum_scale_factor = 0.02);
