-- no transaction
-- Finds the expired monthly counts of single webhooks. Those of an environment are kept.
create index concurrently if not exists delivery_counts_old_months on alerts.delivery_counts (starts_at)
 where period = 'month' and webhook_id <> '';
