-- no transaction
drop index concurrently if exists auth.keys_by_id;
