-- Deliveries that fan-out created, or did not attempt because the webhook was disabled or its filter did not match.
alter table alerts.delivery_counts
  add column created  bigint not null default 0,
  add column skipped  bigint not null default 0,
  add column filtered bigint not null default 0;

-- Metrics by webhook, in order of time.
create index delivery_counts_by_time on alerts.delivery_counts
  (workspace_id, environment, period, starts_at, webhook_id) where webhook_id <> '';

-- Counts of the groups that a tenant's requests belong to: by route, class of the status, and API key. The columns are
-- those of alerts.request_counts.
create table alerts.request_groups (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null check (environment in ('live', 'sandbox')),
  dimension     text collate "C" not null check (dimension in ('route', 'status_class', 'api_key_id')),
  period        text collate "C" not null check (period in ('minute', 'hour', 'day')),
  starts_at     timestamptz not null,
  name          text collate "C" not null,
  requests      bigint not null,
  client_errors bigint not null,
  server_errors bigint not null,
  rate_limited  bigint not null,
  latencies     bigint[] not null,
  primary key (workspace_id, environment, dimension, period, starts_at, name)
) with (fillfactor = 70);

-- Housekeeping deletes expired counts of each period.
create index request_groups_age on alerts.request_groups (period, starts_at);

-- Counts of the groups that the deliveries of a webhook, or with an empty webhook_id of an environment, belong to: by
-- event type, and by outcome. The outcome is 'success' or the error class of the attempt, and 'none' for what is counted
-- without an attempt. The columns are those of alerts.delivery_counts.
create table alerts.delivery_groups (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  webhook_id   text collate "C" not null,
  dimension    text collate "C" not null check (dimension in ('event_type', 'outcome')),
  period       text collate "C" not null check (period in ('minute', 'hour', 'day')),
  starts_at    timestamptz not null,
  name         text collate "C" not null,
  created      bigint not null,
  delivered    bigint not null,
  failed       bigint not null,
  canceled     bigint not null,
  skipped      bigint not null,
  filtered     bigint not null,
  attempts     bigint not null,
  latencies    bigint[] not null,
  primary key (workspace_id, environment, webhook_id, dimension, period, starts_at, name)
) with (fillfactor = 70);

create index delivery_groups_age on alerts.delivery_groups (period, starts_at);
