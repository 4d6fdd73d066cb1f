-- Housekeeping finds the runs of webhooks that are no longer called.
create index webhook_runs_age on alerts.webhook_runs (last_attempt_at);
