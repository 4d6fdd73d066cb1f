-- What an incident is about, as its owner knows it: the URL of a webhook, the name of a key. Empty: the environment, or
-- unknown.
alter table alerts.incidents add column object text not null default '';
alter table alerts.notifications
  add column object     text not null default '',
  -- Kind of another rule whose email about the same problem the recipients of both rules get; empty: none.
  add column covered_by text collate "C" not null default '';

-- The URL of the last attempt, and of the disabled webhook; empty: unknown.
alter table alerts.webhook_runs add column url text not null default '';
alter table alerts.disabled_webhooks add column url text not null default '';
