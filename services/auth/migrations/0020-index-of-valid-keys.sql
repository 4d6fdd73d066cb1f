-- no transaction
-- Finds the valid keys of a workspace among any number of keys that have expired.
create index concurrently if not exists keys_by_end on auth.keys (workspace_id, coalesce(least(expires_at, rolled_at), 'infinity'))
 where revoked_at is null;
