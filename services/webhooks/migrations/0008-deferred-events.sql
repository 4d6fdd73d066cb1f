-- Events that are stored, but not yet fanned out to all webhooks of their tenant. One event may match thousands of
-- webhooks, and its deliveries are created in chunks; a row is deleted together with the insert of its last deliveries.
-- Events of a tenant are fanned out in feed order: while the tenant has rows here, its new events are added here.
create table webhooks.deferred_events (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  -- In the feed of the tenant.
  position      bigint not null,
  event_id      text collate "C" not null,
  -- The last webhook whose deliveries are stored; empty: none. Chunks follow the order of webhook ids.
  after_webhook text collate "C" not null default '',
  primary key (workspace_id, environment, position)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);
