-- What API requests came to, in minutes, hours, days and months (UTC) that begin at starts_at. Gateways report sums, which
-- are added here.
create table alerts.request_counts (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null check (environment in ('live', 'sandbox')),
  period        text collate "C" not null check (period in ('minute', 'hour', 'day', 'month')),
  starts_at     timestamptz not null,
  requests      bigint not null,
  -- Let in by the limits: what the monthly quota counts.
  admitted      bigint not null,
  client_errors bigint not null,
  server_errors bigint not null,
  rate_limited  bigint not null,
  quota_refused bigint not null,
  -- How many took how long: one for each bound of packages/usage, and one for what took longer.
  latencies     bigint[] not null,
  -- That held for the last of them; 0: none.
  monthly_quota bigint not null,
  primary key (workspace_id, environment, period, starts_at)
) with (fillfactor = 70);

-- All that was used in one month.
create index request_counts_month on alerts.request_counts (starts_at, workspace_id, environment) where period = 'month';

-- Those that have had their time.
create index request_counts_age on alerts.request_counts (period, starts_at);

-- The same for attempts of deliveries, of each webhook and, with an empty webhook_id, of all together.
create table alerts.delivery_counts (
  workspace_id    text collate "C" not null,
  environment     text collate "C" not null check (environment in ('live', 'sandbox')),
  webhook_id      text collate "C" not null,
  period          text collate "C" not null check (period in ('minute', 'hour', 'day', 'month')),
  starts_at       timestamptz not null,
  attempts        bigint not null,
  failed_attempts bigint not null,
  delivered       bigint not null,
  failed          bigint not null,
  latencies       bigint[] not null,
  primary key (workspace_id, environment, webhook_id, period, starts_at)
) with (fillfactor = 70);

create index delivery_counts_age on alerts.delivery_counts (period, starts_at);

-- How attempts at a webhook have gone of late.
create table alerts.webhook_runs (
  workspace_id    text collate "C" not null,
  environment     text collate "C" not null check (environment in ('live', 'sandbox')),
  webhook_id      text collate "C" not null,
  -- Failed attempts since the last one that went well.
  failures        bigint not null,
  last_attempt_at timestamptz not null,
  last_success_at timestamptz,
  primary key (workspace_id, environment, webhook_id)
) with (fillfactor = 70);

-- The last report of each process that counts: one that comes again counts once.
create table alerts.reporters (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  reporter_id  text collate "C" not null,
  sequence     bigint not null,
  seen_at      timestamptz not null default now(),
  primary key (workspace_id, environment, reporter_id)
) with (fillfactor = 70);

create function alerts.add_counts(one bigint[], other bigint[]) returns bigint[]
  language sql immutable parallel safe
  return (select array_agg(coalesce(a, 0) + coalesce(b, 0) order by i) from unnest(one, other) with ordinality as t (a, b, i));
