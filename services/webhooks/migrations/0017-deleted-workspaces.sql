-- Deleted workspaces whose late rows are still deleted (packages/workspace-deletion).
create table webhooks.deleted_workspaces (
  workspace_id text collate "C" primary key,
  deleted_at   timestamptz not null default now(),
  -- Deleted rows by table.
  deleted_rows jsonb not null default '{}',
  -- When late rows are deleted next.
  sweep_at     timestamptz not null
) with (fillfactor = 50);

create index deleted_workspaces_by_sweep on webhooks.deleted_workspaces (sweep_at);
