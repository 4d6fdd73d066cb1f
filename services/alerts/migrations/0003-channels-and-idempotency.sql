-- Increases with every change of a rule (ETag, If-Match).
alter table alerts.rules
  add column version  bigint not null default 1,
  -- IDs of the channels that report the incidents of the rule, besides its recipients.
  add column channels text[] not null default '{}';

alter table alerts.incidents
  -- Set: no reminders. The actor in the form of the audit log, such as "key:key_1".
  add column acknowledged_at timestamptz,
  add column acknowledged_by text not null default '',
  -- Until then, no messages.
  add column muted_until     timestamptz,
  -- Message that reported the incident, alone or with others that opened in the same minute. Empty: none yet.
  add column report_id       text collate "C" not null default '';

-- Finds the incidents of a report, to see whether any of them is still open.
create index incidents_by_report on alerts.incidents (workspace_id, environment, report_id) where report_id <> '';

-- Destinations of alerts besides the recipients of the rules.
create table alerts.channels (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  id           text collate "C" not null,
  type         text collate "C" not null check (type in ('email', 'pagerduty', 'slack', 'webhook')),
  name         text not null,
  -- Of type email.
  addresses    text[] not null default '{}',
  -- Of type webhook. The URL of type slack is a secret.
  url          text not null default '',
  -- Sealed: the URL (slack), the routing key (pagerduty) or the signing secret (webhook). Null for type email.
  secret       bytea,
  -- End of the secret, to recognize it.
  hint         text not null default '',
  version      bigint not null default 1,
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  primary key (workspace_id, environment, id)
);

-- Messages to channels of other types than email; the columns are those of alerts.emails.
create table alerts.channel_messages (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  id           text collate "C" not null,
  -- ID of the channel.
  recipient    text collate "C" not null,
  -- What the message reports, without secrets. Null once it has ended.
  content      bytea,
  -- Messages of a channel with the same thread are sent in the order of their IDs.
  thread       text collate "C" not null default '',
  state        text collate "C" not null default 'queued' check (state in ('queued', 'sent', 'failed')),
  attempts     integer not null default 0,
  due_at       timestamptz default now(),
  expires_at   timestamptz not null,
  last_error   text not null default '',
  reply        text not null default '',
  created_at   timestamptz not null default now(),
  ended_at     timestamptz,
  primary key (workspace_id, environment, id)
);
create index channel_messages_in_turns on alerts.channel_messages (workspace_id, due_at) where state = 'queued';
create index channel_messages_by_thread on alerts.channel_messages (workspace_id, environment, recipient, thread)
 where state = 'queued';
create index channel_messages_ended on alerts.channel_messages (ended_at) where state <> 'queued';

-- Responses to requests with an Idempotency-Key (packages/postgres, idempotency).
create table alerts.idempotency_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key          text collate "C" not null,
  fingerprint  bytea not null,
  -- Sealed, because it may contain the secret of a channel.
  answer       bytea not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key)
);
create index idempotency_keys_by_expiry on alerts.idempotency_keys (expires_at);
