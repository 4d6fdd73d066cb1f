-- Operational events about webhooks and deliveries, written in the transaction of the change, until they are stored in
-- the feed.
create table webhooks.operational_events (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  -- rms.events.v1.ResourceEvent
  record       bytea not null,
  primary key (workspace_id, environment, id)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- Whether the failure that began at failing_since has been reported as webhook.failing. The recovery is reported then.
alter table webhooks.webhooks add column failure_reported boolean not null default false;
