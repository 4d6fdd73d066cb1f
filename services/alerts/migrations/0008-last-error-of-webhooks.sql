-- The error of the last failed attempt at a webhook; empty: unknown.
alter table alerts.webhook_runs add column last_error text not null default '';
