-- Lists of resources by metadata.

-- Returns a pair of metadata as it is indexed: 16 bytes of its SHA-256, because a pair can be longer than an index row.
create function resources.metadata_pair(key text, value text) returns bytea language sql immutable parallel safe as $$
  select substr(sha256(convert_to(char_length(key) || ':' || key || value, 'UTF8')), 1, 16)
$$;

-- The pairs of the metadata of each resource, as an index: lists by metadata read one range in the order of IDs. The
-- trigger maintains it, so that it is complete for every writer.
create table resources.metadata_pairs (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  pair         bytea not null,
  resource_id  text collate "C" not null,
  primary key (workspace_id, environment, pair, resource_id)
);

create function resources.index_metadata() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    delete from resources.metadata_pairs as p
     using (select resources.metadata_pair(m.key, m.value) as pair from json_each_text(old.metadata) as m offset 0) as gone
     where p.workspace_id = old.workspace_id and p.environment = old.environment
       and p.pair = gone.pair and p.resource_id = old.id;
  end if;
  if tg_op <> 'DELETE' then
    insert into resources.metadata_pairs (workspace_id, environment, pair, resource_id)
    select new.workspace_id, new.environment, resources.metadata_pair(m.key, m.value), new.id
      from json_each_text(new.metadata) as m
    on conflict do nothing;
  end if;
  return null;
end $$;

create trigger index_new_metadata after insert on resources.resources
  for each row when (new.metadata::text <> '{}') execute function resources.index_metadata();
create trigger index_changed_metadata after update on resources.resources
  for each row when (new.metadata::text <> old.metadata::text) execute function resources.index_metadata();
create trigger unindex_metadata after delete on resources.resources
  for each row when (old.metadata::text <> '{}') execute function resources.index_metadata();
