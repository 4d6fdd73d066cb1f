-- Usage of tenants, alert rules with their incidents, and all email.

-- Usage

-- Counts of API requests in minutes, hours, days and months (UTC). Gateways report sums, which are added to the rows.
create table alerts.request_counts (
  workspace_id  text collate "C" not null,
  environment   text collate "C" not null check (environment in ('live', 'sandbox')),
  period        text collate "C" not null check (period in ('minute', 'hour', 'day', 'month')),
  -- Start of the period.
  starts_at     timestamptz not null,
  requests      bigint not null,
  -- Requests that passed the limits. The monthly quota counts them.
  admitted      bigint not null,
  client_errors bigint not null,
  server_errors bigint not null,
  rate_limited  bigint not null,
  quota_refused bigint not null,
  -- Requests by duration: one element per bound of packages/reporting, and one for longer requests.
  latencies     bigint[] not null,
  -- The quota of the most recent request; 0: none.
  monthly_quota bigint not null,
  primary key (workspace_id, environment, period, starts_at)
) with (fillfactor = 70);

-- Pages of the usage of all tenants in a month.
create index request_counts_month on alerts.request_counts (starts_at, workspace_id, environment)
  where period = 'month';
-- Housekeeping deletes expired counts of each period.
create index request_counts_age on alerts.request_counts (period, starts_at);

-- Counts of delivery attempts, per webhook and, with an empty webhook_id, per environment.
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
  -- Canceled deliveries, which count neither as delivered nor as failed.
  canceled        bigint not null default 0,
  primary key (workspace_id, environment, webhook_id, period, starts_at)
) with (fillfactor = 70);

-- Housekeeping deletes expired counts of each period, and expired monthly counts of single webhooks. Monthly counts of
-- environments are kept.
create index delivery_counts_age on alerts.delivery_counts (period, starts_at);
create index delivery_counts_old_months on alerts.delivery_counts (starts_at)
  where period = 'month' and webhook_id <> '';

-- Returns the sums of the elements of two arrays of counts; missing elements are 0.
create function alerts.add_counts(one bigint[], other bigint[]) returns bigint[]
  language sql immutable parallel safe
  return (select array_agg(coalesce(a, 0) + coalesce(b, 0) order by i)
            from unnest(one, other) with ordinality as t (a, b, i));

-- The most recent report of each process that counts, so that a repeated report counts once.
create table alerts.reporters (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  reporter_id  text collate "C" not null,
  sequence     bigint not null,
  seen_at      timestamptz not null default now(),
  primary key (workspace_id, environment, reporter_id)
) with (fillfactor = 70);

-- Housekeeping deletes processes that no longer report.
create index reporters_by_age on alerts.reporters (seen_at);

-- Facts that rules are evaluated with

-- The most recent attempts of each webhook.
create table alerts.webhook_runs (
  workspace_id    text collate "C" not null,
  environment     text collate "C" not null check (environment in ('live', 'sandbox')),
  webhook_id      text collate "C" not null,
  -- Failed attempts since the last successful one.
  failures        bigint not null,
  last_attempt_at timestamptz not null,
  last_success_at timestamptz,
  -- URL of the last attempt; empty: unknown.
  url             text not null default '',
  -- Error of the last failed attempt; empty: unknown.
  last_error      text not null default '',
  primary key (workspace_id, environment, webhook_id)
) with (fillfactor = 70);

-- Housekeeping deletes the runs of webhooks that are no longer called.
create index webhook_runs_age on alerts.webhook_runs (last_attempt_at);

-- Webhooks that the service has disabled, until they are enabled or deleted.
create table alerts.disabled_webhooks (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  webhook_id   text collate "C" not null,
  reason       text not null,
  disabled_at  timestamptz not null,
  -- Empty: unknown.
  url          text not null default '',
  primary key (workspace_id, environment, webhook_id)
);

-- Sequence of the most recent notice about each webhook. A notice with a smaller sequence that arrives later is
-- outdated.
create table alerts.webhook_notices (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  webhook_id   text collate "C" not null,
  sequence     bigint not null,
  seen_at      timestamptz not null default now(),
  primary key (workspace_id, environment, webhook_id)
) with (fillfactor = 70);

-- Housekeeping deletes rows that are too old to matter.
create index webhook_notices_age on alerts.webhook_notices (seen_at);

-- Keys that expire soon, as last reported by auth.
create table alerts.expiring_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  key_id       text collate "C" not null,
  name         text not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key_id)
);

-- Rules and incidents

-- Rules that users have changed. The others have the defaults of the code.
create table alerts.rules (
  workspace_id   text collate "C" not null,
  environment    text collate "C" not null check (environment in ('live', 'sandbox')),
  kind           text collate "C" not null,
  enabled        boolean not null,
  threshold      double precision not null,
  window_seconds integer not null,
  -- Number of requests or attempts in the window below which the rule is not evaluated.
  minimum        bigint not null,
  recipients     text[] not null,
  to_owners      boolean not null,
  updated_at     timestamptz not null,
  primary key (workspace_id, environment, kind)
);

-- The next evaluation of each tenant's rules. The lock of a row is the lease of the instance that evaluates.
create table alerts.evaluations (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  -- 'infinity': the next event of the tenant, such as a usage report, schedules the evaluation.
  due_at       timestamptz not null,
  primary key (workspace_id, environment)
) with (fillfactor = 70);

-- Takes the most overdue tenant.
create index evaluations_due on alerts.evaluations (due_at);

-- Periods in which a subject violates a rule.
create table alerts.incidents (
  workspace_id   text collate "C" not null,
  environment    text collate "C" not null check (environment in ('live', 'sandbox')),
  id             text collate "C" not null,
  -- Kind of the rule.
  kind           text collate "C" not null,
  -- A webhook, a key, or a step of the quota; empty: the environment.
  subject_id     text collate "C" not null,
  state          text collate "C" not null check (state in ('open', 'recovered', 'ended')),
  opened_at      timestamptz not null,
  last_notice_at timestamptz not null,
  notices        integer not null,
  -- Start of the current period without a violation. Null: the rule is violated.
  calm_since     timestamptz,
  closed_at      timestamptz,
  value          double precision not null,
  worst_value    double precision not null,
  threshold      double precision not null,
  summary        text not null,
  -- Number of incidents of the subject that closed shortly before this one, each soon after the previous one.
  flaps          integer not null,
  -- The subject as its owner knows it: URL of a webhook, name of a key. Empty: the environment, or unknown.
  object         text not null default '',
  primary key (workspace_id, environment, id)
);

-- A subject has one open incident of a kind.
create unique index incidents_open on alerts.incidents (workspace_id, environment, kind, subject_id)
  where state = 'open';
-- Recently closed incidents of a tenant, for the evaluation and for the limit on their number.
create index incidents_closed on alerts.incidents (workspace_id, environment, closed_at) where state <> 'open';
-- Lists of incidents of a kind, in the order of their IDs.
create index incidents_by_kind on alerts.incidents (workspace_id, environment, kind, id);
-- Housekeeping deletes incidents that closed long ago.
create index incidents_by_age on alerts.incidents (closed_at) where state <> 'open';

-- Reports of incidents to the recipients of a rule, written in the transaction of the incident. A row becomes an email
-- to each recipient.
create table alerts.notifications (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  id           text collate "C" not null,
  kind         text collate "C" not null,
  notice       text collate "C" not null check (notice in ('opened', 'repeated', 'recovered')),
  incident_id  text collate "C" not null,
  subject_id   text collate "C" not null,
  summary      text not null,
  opened_at    timestamptz not null,
  created_at   timestamptz not null default now(),
  due_at       timestamptz not null default now(),
  -- As in alerts.incidents.
  object       text not null default '',
  -- Kind of another rule whose email about the same problem the recipients of both rules get; empty: none.
  covered_by   text collate "C" not null default '',
  primary key (workspace_id, environment, id)
);

-- Takes the oldest due rows of each workspace in turn.
create index notifications_in_turns on alerts.notifications (workspace_id, due_at);
-- Withdraws the reports of recoveries of subjects that violate their rule again.
create index notifications_by_subject on alerts.notifications (workspace_id, environment, kind, subject_id);

-- Recipients

-- Recipients of alert emails who are not members of the workspace.
create table alerts.outside_recipients (
  workspace_id text collate "C" not null,
  -- In lower case.
  address      text collate "C" not null,
  -- Time of the email that asks for confirmation.
  asked_at     timestamptz not null,
  -- Null: not confirmed, so the address receives no alerts.
  confirmed_at timestamptz,
  primary key (workspace_id, address)
);

-- Housekeeping deletes addresses that were not confirmed in time.
create index outside_recipients_unconfirmed on alerts.outside_recipients (asked_at) where confirmed_at is null;

-- Addresses that have unsubscribed from the emails of a rule.
create table alerts.unsubscribed (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  kind         text collate "C" not null,
  -- In lower case.
  address      text not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, environment, kind, address)
);

-- Limits the emails that users request, by the generic cell rate algorithm.
create table alerts.throttles (
  -- Hash of a workspace or an address.
  subject    bytea primary key,
  -- Time at which the subject has its full burst again.
  arrival_at timestamptz not null
) with (fillfactor = 70);

-- Housekeeping deletes counters that no longer limit anything.
create index throttles_by_arrival on alerts.throttles (arrival_at);

-- Emails

-- Emails, each to one address. Emails of accounts have an empty workspace and environment.
create table alerts.emails (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox', '')),
  id           text collate "C" not null,
  recipient    text not null,
  -- Subject, texts and links, encrypted because links contain tokens. Null: the email is sent or has failed.
  content      bytea,
  state        text collate "C" not null default 'queued' check (state in ('queued', 'sent', 'failed')),
  attempts     integer not null default 0,
  -- Time of the next attempt. During an attempt: end of the lease of the instance that sends the email.
  due_at       timestamptz default now(),
  -- Time from which on the email is not sent.
  expires_at   timestamptz not null,
  -- Error of the last attempt, or reply that rejected the email; empty: none.
  last_error   text not null default '',
  created_at   timestamptz not null default now(),
  -- Time at which the email was sent or has failed.
  ended_at     timestamptz,
  -- Last reply of the SMTP server to an email that was sent.
  reply        text not null default '',
  -- The problem that the email reports (threadOf in services/alerts/src/notify/alert-email.ts). Later emails about it
  -- reply to that email and have its title. Both are empty in other emails.
  thread       text collate "C" not null default '',
  title        text not null default '',
  primary key (workspace_id, environment, id)
);

-- Takes the oldest due emails of each workspace in turn.
create index emails_in_turns on alerts.emails (workspace_id, due_at) where state = 'queued';
-- Emails that are due later, earliest first. A successful email makes them due.
create index emails_due on alerts.emails (due_at) where state = 'queued';
-- Emails of a workspace that could not be sent yet.
create index emails_waiting on alerts.emails (workspace_id, due_at) where state = 'queued' and last_error <> '';
-- The first email about a problem, to which later ones reply.
create index emails_by_thread on alerts.emails (workspace_id, environment, thread) where thread <> '';
-- Housekeeping deletes emails that ended long ago.
create index emails_ended on alerts.emails (ended_at) where state <> 'queued';

-- Deletion and expiry

-- Deleted workspaces whose rows that arrive later are deleted too (packages/postgres/src/workspace-deletion).
create table alerts.deleted_workspaces (
  workspace_id text collate "C" primary key,
  deleted_at   timestamptz not null default now(),
  -- Number of deleted rows by table.
  deleted_rows jsonb not null default '{}',
  -- Time of the next search for late rows.
  sweep_at     timestamptz not null
) with (fillfactor = 50);

-- Housekeeping takes the workspaces that are due.
create index deleted_workspaces_by_sweep on alerts.deleted_workspaces (sweep_at);

-- The time by which rows of this schema expire, agreed by the clock of PostgreSQL and the monotonic clocks of the
-- instances (packages/postgres/src/db/agreed-clock.ts). No row: the clock has not been compared yet.
create table alerts.clock (
  single    boolean primary key default true check (single),
  agreed_at timestamptz not null
) with (fillfactor = 10);

-- Returns the current time, but at most five minutes after the last agreed time: a clock that jumps ahead deletes
-- nothing.
create function alerts.agreed_now() returns timestamptz language sql stable as $$
  select least(now(), (select agreed_at + interval '5 minutes' from alerts.clock))
$$;
