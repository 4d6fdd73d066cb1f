-- Limits under a name. Few rows, the same for all workspaces: a reference table where PostgreSQL is sharded. Null: as the
-- settings of the installation say; 0: no limit.
create table auth.plans (
  name                      text collate "C" primary key,
  rate_limit_requests       bigint,
  rate_limit_window_seconds bigint,
  monthly_quota             bigint,
  created_at                timestamptz not null default now(),
  updated_at                timestamptz not null default now()
);

-- Null: the settings of the installation.
alter table auth.workspaces add column plan text collate "C" references auth.plans;

alter table auth.keys
  -- 'key:key_…', 'operator:alice@laptop', 'system'; empty: unknown.
  add column created_by          text not null default '',
  -- Counts changes; a mark in Redis that names a later one makes what gateways have cached void.
  add column version             bigint not null default 1,
  -- In place of the plan's; 0: no limit.
  add column rate_limit_requests bigint;

-- Changes of keys that are committed and not yet marked in Redis. A row lives for milliseconds while Redis answers.
create table auth.pending_marks (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key_id       text collate "C" not null,
  version      bigint not null,
  primary key (workspace_id, environment, key_id)
);

-- Who uses which key: the latest clients of each, as gateways report them now and then.
create table auth.key_uses (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key_id       text collate "C" not null,
  address      text collate "C" not null,
  user_agent   text collate "C" not null,
  last_used_at timestamptz not null,
  requests     bigint not null,
  primary key (workspace_id, environment, key_id, address, user_agent)
) with (fillfactor = 80);
