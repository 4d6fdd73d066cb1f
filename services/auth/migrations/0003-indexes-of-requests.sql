-- no transaction
-- Indexes for the filters of the request log, which end with the time, so that a page reads its rows in order. Filters on
-- successful responses use requests_by_time.
--
-- Reports of requests to a partition wait while its indexes are built, and gateways keep them. One partition is locked at
-- a time; the last statement finds its index in every partition. New partitions copy the indexes.
do $$
declare
  added record;
  partition regclass;
begin
  for added in
    select * from (values
      ('key', '(workspace_id, environment, key_id, started_at)'),
      ('address', '(workspace_id, environment, client_address, started_at)'),
      ('route', '(workspace_id, environment, route, method, started_at)'),
      ('method', '(workspace_id, environment, method, started_at) where method <> ''GET'''),
      ('status', '(workspace_id, environment, status, started_at) where status not between 200 and 399'),
      ('status_class', '(workspace_id, environment, (status / 100), started_at) where status not between 200 and 399'),
      ('error_code', '(workspace_id, environment, error_code, started_at) where error_code <> '''''),
      ('actor', '(workspace_id, environment, actor, started_at) where actor <> ''''')
    ) as i (name, definition)
  loop
    for partition in select inhrelid from pg_inherits where inhparent = 'auth.requests'::regclass loop
      execute format('create index if not exists %I on %s %s',
        (select relname from pg_class where oid = partition) || '_by_' || added.name, partition, added.definition);
      commit;
    end loop;
    execute format('create index if not exists %I on auth.requests %s', 'requests_by_' || added.name, added.definition);
    commit;
  end loop;
end
$$;
