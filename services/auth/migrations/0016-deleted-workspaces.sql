-- When the deletion of a workspace began; null: it is not being deleted. The row remains until all contents are deleted.
alter table auth.workspaces add column deletion_started_at timestamptz;

-- Deleted workspaces whose late rows are still deleted (packages/workspace-deletion).
create table auth.deleted_workspaces (
  workspace_id text collate "C" primary key,
  deleted_at   timestamptz not null default now(),
  -- Deleted rows by table.
  deleted_rows jsonb not null default '{}',
  -- When late rows are deleted next.
  sweep_at     timestamptz not null
) with (fillfactor = 50);

create index deleted_workspaces_by_sweep on auth.deleted_workspaces (sweep_at);
