-- no transaction
-- Which keys have sealed secrets, read at the start of each instance without reading all webhooks.
create index concurrently if not exists webhooks_by_key on webhooks.webhooks (substring(secret_sealed from 1 for 4));
