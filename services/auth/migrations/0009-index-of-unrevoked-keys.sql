-- no transaction
create index concurrently if not exists keys_unrevoked on auth.keys (workspace_id) where revoked_at is null;
