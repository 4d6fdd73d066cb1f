-- Last reply of the SMTP server to an email that was sent. The reply to a rejected email is in last_error.
alter table alerts.mails add column reply text not null default '';
-- Emails of a workspace that could not be sent yet.
create index mails_waiting on alerts.mails (workspace_id, due_at) where state = 'queued' and last_error <> '';
