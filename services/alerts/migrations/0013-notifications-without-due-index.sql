-- no transaction
-- Notifications are found by workspace and due_at (notifications_in_turns).
drop index concurrently if exists alerts.notifications_due;
