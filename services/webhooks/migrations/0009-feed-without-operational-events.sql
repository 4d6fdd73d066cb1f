-- no transaction
-- Pages of the feed without operational events, for keys that do not get them. A feed may have any number of these in a
-- row. Inserts into a partition wait while its index is built. One partition is locked at a time; the last statement finds
-- its index in every partition.
do $$
declare
  partition regclass;
begin
  for partition in select inhrelid from pg_inherits where inhparent = 'webhooks.events'::regclass loop
    execute format('create index if not exists %I on %s (workspace_id, environment, position) where type like ''resource.%%''',
      (select relname from pg_class where oid = partition) || '_of_resources', partition);
    commit;
  end loop;
  create index if not exists events_of_resources on webhooks.events (workspace_id, environment, position)
    where type like 'resource.%';
end
$$;
