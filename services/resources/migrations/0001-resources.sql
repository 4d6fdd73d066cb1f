-- created_at is the time inside the id, so the primary key is the index of the default sort (docs/adr/0002).
create table resources.resources (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  status       text collate "C" not null,
  name         text collate "C" not null,
  -- json, not jsonb: keeps the order of keys, and is cheaper to write.
  metadata     json not null,
  input_type   text not null,
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  -- The sequence number of the resource's latest event.
  sequence     bigint not null,
  primary key (workspace_id, environment, id)
);

-- Each serves one sort under a status; without a filter, the three statuses' ranges are merged.
create index resources_by_status on resources.resources (workspace_id, environment, status, id);
create index resources_by_update on resources.resources (workspace_id, environment, status, updated_at, id);
create index resources_by_name on resources.resources (workspace_id, environment, status, name, id);

-- Exact totals. Each transaction adds to one shard of its choice, so that writers seldom wait for one another.
create table resources.resource_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  status       text collate "C" not null,
  shard        smallint not null,
  count        bigint not null,
  primary key (workspace_id, environment, status, shard)
) with (fillfactor = 50);

-- Answers that a POST with the same Idempotency-Key gets again for 24 hours.
create table resources.idempotency_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key          text collate "C" not null,
  -- SHA-256 of the request's canonical form.
  fingerprint  bytea not null,
  resource_id  text collate "C" not null,
  -- rms.resources.v1.Resource as it was answered.
  answer       bytea not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key)
);

create index idempotency_keys_by_expiry on resources.idempotency_keys (expires_at);
