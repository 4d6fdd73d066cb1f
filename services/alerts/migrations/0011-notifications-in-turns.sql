-- no transaction
-- Workspaces take turns in the queue of notifications.
create index concurrently if not exists notifications_in_turns on alerts.notifications (workspace_id, due_at);
