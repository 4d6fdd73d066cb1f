-- Operators find the workspace of a webhook or a replay by its ID alone. A hash index has no order, so that lists of one
-- workspace, ordered by ID, never use it.
drop index webhooks.webhooks_by_id, webhooks.replays_by_id;
create index webhooks_by_id on webhooks.webhooks using hash (id);
create index replays_by_id on webhooks.replays using hash (id);
