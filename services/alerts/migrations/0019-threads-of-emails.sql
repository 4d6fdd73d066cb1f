-- Later emails about an incident reply to the email that reported it and have its title. Empty in all other emails.
alter table alerts.mails
  -- The problem that the email reports: see threadOf in services/alerts/src/notify/alert-email.ts.
  add column thread text collate "C" not null default '',
  add column title  text not null default '';

create index mails_by_thread on alerts.mails (workspace_id, environment, thread) where thread <> '';
