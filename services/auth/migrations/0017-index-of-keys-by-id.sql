-- no transaction
create index concurrently if not exists keys_by_id on auth.keys (id);
