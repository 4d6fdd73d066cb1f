-- Rules that somebody has changed; the others have the defaults of the code.
create table alerts.rules (
  workspace_id   text collate "C" not null,
  environment    text collate "C" not null check (environment in ('live', 'sandbox')),
  kind           text collate "C" not null,
  enabled        boolean not null,
  threshold      double precision not null,
  window_seconds integer not null,
  minimum        bigint not null,
  recipients     text[] not null,
  to_owners      boolean not null,
  updated_at     timestamptz not null,
  primary key (workspace_id, environment, kind)
);

-- Who wants no more mails of a rule. The address in lower case.
create table alerts.unsubscribed (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  kind         text collate "C" not null,
  address      text not null,
  created_at   timestamptz not null default now(),
  primary key (workspace_id, environment, kind, address)
);

-- When each tenant's rules are looked at next. The lock of a row is the lease of who looks.
create table alerts.watches (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  due_at       timestamptz not null,
  primary key (workspace_id, environment)
) with (fillfactor = 70);
create index watches_due on alerts.watches (due_at);

-- What was wrong, and when.
create table alerts.incidents (
  workspace_id   text collate "C" not null,
  environment    text collate "C" not null check (environment in ('live', 'sandbox')),
  id             text collate "C" not null,
  kind           text collate "C" not null,
  -- A webhook, a key, a step of the quota; empty: the environment.
  subject_id     text collate "C" not null,
  state          text collate "C" not null check (state in ('open', 'recovered', 'ended')),
  opened_at      timestamptz not null,
  last_notice_at timestamptz not null,
  notices        integer not null,
  -- Since when all has been well; null: it is not.
  calm_since     timestamptz,
  closed_at      timestamptz,
  value          double precision not null,
  worst_value    double precision not null,
  threshold      double precision not null,
  summary        text not null,
  -- How many closed shortly before it, one soon after the other.
  flaps          integer not null,
  primary key (workspace_id, environment, id)
);
create unique index incidents_open on alerts.incidents (workspace_id, environment, kind, subject_id) where state = 'open';
create index incidents_closed on alerts.incidents (workspace_id, environment, closed_at) where state <> 'open';

-- Webhooks that the service has disabled, until they are enabled or deleted.
create table alerts.disabled_webhooks (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  webhook_id   text collate "C" not null,
  reason       text not null,
  disabled_at  timestamptz not null,
  primary key (workspace_id, environment, webhook_id)
);

-- Keys whose end is near, as auth last told.
create table alerts.expiring_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  key_id       text collate "C" not null,
  name         text not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key_id)
);

-- Something to tell the recipients of a rule, written with what it tells of. It becomes a mail to each of them.
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
  primary key (workspace_id, environment, id)
);
create index notifications_due on alerts.notifications (due_at);

-- Mails, each to one address. Those that are not about a workspace (accounts) have an empty one and an empty environment.
create table alerts.mails (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox', '')),
  id           text collate "C" not null,
  recipient    text not null,
  -- Subject, texts and links, sealed: links hold tokens. Null once it has ended.
  content      bytea,
  state        text collate "C" not null default 'queued' check (state in ('queued', 'sent', 'failed')),
  attempts     integer not null default 0,
  -- While it is being sent: when the lease of who sends it runs out.
  due_at       timestamptz default now(),
  expires_at   timestamptz not null,
  last_error   text not null default '',
  created_at   timestamptz not null default now(),
  ended_at     timestamptz,
  primary key (workspace_id, environment, id)
);
create index mails_due on alerts.mails (due_at) where state = 'queued';
create index mails_ended on alerts.mails (ended_at) where state <> 'queued';
