create table webhooks.webhooks (
  workspace_id     text collate "C" not null,
  environment      text collate "C" not null,
  id               text collate "C" not null,
  url              text not null,
  -- Event types, or '*' alone.
  events           text[] not null,
  status           text not null check (status in ('active', 'disabled')),
  -- 'manual' or 'gone' (the endpoint answered 410); null if active.
  disable_reason   text,
  -- AES-256-GCM, bound to the id.
  secret_sealed    bytea not null,
  -- Counts rotations; names what is cached of the secret.
  secret_version   integer not null default 1,
  max_retries      integer not null,
  initial_delay_ms bigint not null,
  max_delay_ms     bigint not null,
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  primary key (workspace_id, environment, id)
);

create table webhooks.idempotency_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key          text collate "C" not null,
  fingerprint  bytea not null,
  -- rms.webhooks.v1.CreateWebhookResponse, sealed: it holds the secret.
  answer       bytea not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key)
);

create index idempotency_keys_by_expiry on webhooks.idempotency_keys (expires_at);

-- Each event that some webhook wants, once, with the bytes that are delivered.
create table webhooks.events (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  type         text not null,
  resource_id  text collate "C" not null,
  sequence     bigint not null,
  request_id   text not null,
  traceparent  text not null,
  -- Null once erased (ERASE_ON_DELETE).
  body         bytea,
  created_at   timestamptz not null,
  primary key (workspace_id, environment, id)
);

-- One event on its way to one webhook. The id is made from those two and leads with the event's time: a repeated event
-- meets its own row, and the primary key alone is the deduplication and the order of the log (docs/adr/0006).
create table webhooks.deliveries (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  id           text collate "C" not null,
  event_id     text collate "C" not null,
  webhook_id   text collate "C" not null,
  event_type   text not null,
  resource_id  text collate "C" not null,
  request_id   text not null,
  status       text not null check (status in ('pending', 'delivered', 'failed')),
  -- All attempts ever; and those of this round, which a redelivery starts anew.
  attempts     integer not null default 0,
  tries        integer not null default 0,
  -- Counts leases: the result of an attempt decides only if its lease is still the last one.
  lease        integer not null default 0,
  -- When to attempt next. While an attempt is under way: when its lease ends, and another instance may attempt.
  due_at       timestamptz,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, environment, id)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- What is due, over all tenants and for each webhook apart; as small as the backlog.
create index deliveries_due on webhooks.deliveries (webhook_id, due_at) where status = 'pending';
create index deliveries_by_webhook on webhooks.deliveries (workspace_id, environment, webhook_id, id);

create table webhooks.attempts (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null,
  delivery_id   text collate "C" not null,
  number        integer not null,
  started_at    timestamptz not null,
  -- 0: no answer.
  status_code   integer not null,
  -- Empty if delivered.
  error         text not null,
  duration_ms   integer not null,
  -- The first 16 KiB.
  response_body bytea not null,
  primary key (workspace_id, environment, delivery_id, number)
);

-- What a request caused; deliveries are found from their event, whose time leads their id.
create index events_by_request on webhooks.events (workspace_id, environment, request_id);
-- All events of one resource; and deleted resources whose events still have bodies (ERASE_ON_DELETE).
create index events_by_resource on webhooks.events (workspace_id, environment, resource_id);
create index events_to_erase on webhooks.events (id) where type = 'resource.deleted' and body is not null;
