-- Responses to requests with an Idempotency-Key, for 24 hours. The key is a hash that includes workspace and environment.
create table auth.idempotency_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key          text collate "C" not null,
  fingerprint  bytea not null,
  -- Encrypted, because it may contain the value of an API key.
  answer       bytea not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key)
);

create index idempotency_keys_by_expiry on auth.idempotency_keys (expires_at);
create index idempotency_keys_by_key on auth.idempotency_keys (key);
