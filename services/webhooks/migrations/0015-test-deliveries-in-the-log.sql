-- Test deliveries are in the log, with the origin 'test'. Their events are not in the feed, so the log has their bodies.
-- Null: the body is in webhooks.events.
alter table webhooks.delivery_log add column body bytea;
