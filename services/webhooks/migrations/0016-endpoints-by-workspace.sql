-- no transaction
create index concurrently if not exists endpoints_by_workspace on webhooks.endpoints (workspace_id, webhook_id);
