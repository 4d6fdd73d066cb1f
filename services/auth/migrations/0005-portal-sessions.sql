-- Access to the webhook pages of a workspace and environment without an account. A row lives until its session ends.
create table auth.portal_sessions (
  workspace_id text collate "C" not null references auth.workspaces,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  id           text collate "C" not null,
  -- The key that created the session, which ends with it.
  key_id       text collate "C" not null,
  -- SHA-256 of the link's token; once opened, of the session's token.
  token_hash   bytea not null,
  -- Null: the link was not opened.
  opened_at    timestamptz,
  created_at   timestamptz not null default now(),
  ends_at      timestamptz not null,
  -- Empty: none.
  return_url   text not null,
  theme        jsonb not null,
  primary key (workspace_id, environment, id)
);

-- Opens a link, and checks the session of every request.
create unique index portal_sessions_token on auth.portal_sessions (token_hash);
-- Counts the sessions of a workspace.
create index portal_sessions_by_workspace on auth.portal_sessions (workspace_id, ends_at);
-- Housekeeping deletes ended sessions.
create index portal_sessions_by_end on auth.portal_sessions (ends_at);
