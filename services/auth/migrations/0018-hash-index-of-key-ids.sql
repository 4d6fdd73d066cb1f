-- no transaction
-- Operators find the workspace of a key by its ID alone. A hash index has no order, so that lists of one workspace,
-- ordered by ID, never use it.
create index concurrently if not exists keys_by_hash_of_id on auth.keys using hash (id);
