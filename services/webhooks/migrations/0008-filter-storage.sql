-- Every event reads the filters of its tenant, and many statements read webhooks. In a table of their own, filters are
-- read in one access each, uncompressed, and do not widen the rows of webhooks. With the storage "main", they pushed
-- smaller values out of these rows, even the ID.
create table webhooks.filters (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  webhook_id   text collate "C" not null,
  -- As webhooks.filter_query.
  query        tsquery[] not null,
  primary key (workspace_id, environment, webhook_id)
) with (toast_tuple_target = 8160);
alter table webhooks.filters alter column query set storage external;
alter table webhooks.webhooks alter column filter_query set storage external;

insert into webhooks.filters (workspace_id, environment, webhook_id, query)
select workspace_id, environment, id, filter_query from webhooks.webhooks where filter_query is not null;

-- Keeps webhooks.filters equal to webhooks.filter_query, which earlier releases read, with the index webhooks_filtered.
create function webhooks.store_filter() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or new.filter_query is null then
    delete from webhooks.filters
     where workspace_id = old.workspace_id and environment = old.environment and webhook_id = old.id;
  else
    insert into webhooks.filters (workspace_id, environment, webhook_id, query)
    values (new.workspace_id, new.environment, new.id, new.filter_query)
        on conflict (workspace_id, environment, webhook_id) do update set query = excluded.query;
  end if;
  return null;
end
$$;
create trigger filter_inserted after insert on webhooks.webhooks
  for each row when (new.filter_query is not null) execute function webhooks.store_filter();
create trigger filter_updated after update of filter_query on webhooks.webhooks
  for each row when (old.filter_query is distinct from new.filter_query) execute function webhooks.store_filter();
create trigger filter_deleted after delete on webhooks.webhooks
  for each row when (old.filter_query is not null) execute function webhooks.store_filter();
