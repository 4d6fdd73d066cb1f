-- The most recent refused request of a key that has any.
create table auth.key_refusals (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  key_id       text collate "C" not null,
  refused_at   timestamptz not null,
  error_code   text not null,
  primary key (workspace_id, environment, key_id)
);
