-- no transaction
-- Deliveries that moved from the log back to the queue. Read under the locks with which a day is dropped.
create index concurrently if not exists deliveries_again on webhooks.deliveries (id) where origin <> 'event';
