-- The last notice about each webhook: one that arrives later with a smaller sequence is outdated.
create table alerts.webhook_notices (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  webhook_id   text collate "C" not null,
  sequence     bigint not null,
  seen_at      timestamptz not null default now(),
  primary key (workspace_id, environment, webhook_id)
) with (fillfactor = 70);

-- Rows that are no longer needed.
create index webhook_notices_age on alerts.webhook_notices (seen_at);
