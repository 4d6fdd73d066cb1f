-- A webhook with a filter gets only events that match it. PostgreSQL evaluates filters as text search queries, inside
-- the fan-out statement: a query is compact, needs no parsing, stops early, and takes linear time.
alter table webhooks.webhooks
  -- As the API shows it. Null: none.
  add column filter       json,
  -- The same for PostgreSQL: a query on the terms of an event. Not compressed, because every event reads it.
  add column filter_query tsquery;
alter table webhooks.webhooks alter column filter_query set storage main;

-- Whether a tenant has filters, so that the terms of an event are needed.
create index webhooks_filtered on webhooks.webhooks (workspace_id, environment) where filter_query is not null;

-- Returns the terms of an event on which filter queries are evaluated: "<hash of the field>=<value>" for each string, and
-- "<hash of the field>" for other values. The term "event" is in all of them, because no query matches an empty document.
create function webhooks.filter_terms(body bytea) returns tsvector language sql immutable strict parallel safe as $$
  select array_to_tsvector(array_prepend('event', array_agg(
           encode(substr(sha256(convert_to(field, 'UTF8')), 1, 8), 'hex')
             || case when jsonb_typeof(value) = 'string' then '=' || left(value #>> '{}', 500) else '' end)))
    from (select convert_from(body, 'UTF8')::jsonb -> 'data' as data) as event
   cross join lateral (
         select data -> 'object' as object, data -> 'previous_attributes' as previous) as parts
   cross join lateral (
         select '' as prefix, object as part
         union all select 'metadata.', object -> 'metadata'
         union all select 'previous_attributes.', previous
         union all select 'previous_attributes.metadata.', previous -> 'metadata') as part
   cross join lateral (
         select prefix || key as field, value
           from jsonb_each(case when jsonb_typeof(part) = 'object' then part else '{}' end)) as fields
$$;
