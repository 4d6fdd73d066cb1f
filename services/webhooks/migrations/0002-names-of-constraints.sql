-- Gives the not-null constraints of events and deliveries their default names in databases that are older than
-- 0001-webhooks-events-and-deliveries.sql. These have an additional digit, and PostgreSQL has such names from version 18
-- on. There is nothing to rename in newer databases.
do $$
declare
  item record;
begin
  for item in
    select conrelid::regclass as relation, conname from pg_constraint
     where conrelid in ('webhooks.events'::regclass, 'webhooks.deliveries'::regclass) and contype = 'n'
       and conname like '%\_not\_null1'
  loop
    execute format('alter table %s rename constraint %I to %I', item.relation, item.conname, rtrim(item.conname, '1'));
  end loop;
end
$$;
