-- Operational events about quotas and expiring keys, written in the transaction of the incident, until the webhooks
-- service has stored them.
create table alerts.operational_events (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  -- rms.events.v1.ResourceEvent
  record       bytea not null,
  primary key (workspace_id, environment, id)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- The key as the REST API returns it, for its event. Null: written by the previous release.
alter table alerts.expiring_keys add column document json;
