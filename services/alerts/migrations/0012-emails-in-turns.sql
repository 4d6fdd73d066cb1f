-- no transaction
-- Workspaces take turns in the queue of emails.
create index concurrently if not exists mails_in_turns on alerts.mails (workspace_id, due_at) where state = 'queued';
