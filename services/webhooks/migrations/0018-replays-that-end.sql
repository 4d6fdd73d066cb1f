-- Housekeeping finds old replays, and the limit of a workspace its running ones, however many replays there are.
create index replays_ended on webhooks.replays (created_at) where status <> 'running';
create index replays_running_by_workspace on webhooks.replays (workspace_id) where status = 'running';
-- Operators find the workspace of a webhook or a replay by its ID alone.
create index webhooks_by_id on webhooks.webhooks (id);
create index replays_by_id on webhooks.replays (id);
