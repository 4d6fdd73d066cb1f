create table auth.workspaces (
  id         text collate "C" primary key,
  name       text not null,
  created_at timestamptz not null default now()
);

create table auth.keys (
  workspace_id   text collate "C" not null references auth.workspaces,
  environment    text collate "C" not null check (environment in ('live', 'sandbox')),
  id             text collate "C" not null,
  -- SHA-256 of the key; the key itself is nowhere.
  hash           bytea not null,
  hint           text not null,
  name           text not null,
  scope          text not null check (scope in ('read', 'write', 'admin')),
  -- CIDRs in normal form; empty: any address.
  allowed_ips    text[] not null default '{}',
  created_at     timestamptz not null default now(),
  expires_at     timestamptz,
  revoked_at     timestamptz,
  -- From then on the key answers api_key_expired; in the future while an overlap runs.
  rolled_at      timestamptz,
  replaced_by_id text collate "C",
  primary key (workspace_id, environment, id)
);

-- The look-up of every key that no gateway has cached.
create unique index keys_hash on auth.keys (hash);
