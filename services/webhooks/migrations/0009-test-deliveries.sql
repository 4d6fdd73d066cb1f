-- Test deliveries of a tenant within the current minute, so that tests cannot be used to flood an endpoint.
create table webhooks.test_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  starts_at    timestamptz not null,
  tests        integer not null,
  primary key (workspace_id, environment)
) with (fillfactor = 50);
