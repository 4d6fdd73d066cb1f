-- no transaction
-- A resource that changes while this runs can get a pair that it no longer has. Lists compare the metadata as well.
insert into resources.metadata_pairs (workspace_id, environment, pair, resource_id)
select r.workspace_id, r.environment, resources.metadata_pair(m.key, m.value), r.id
  from resources.resources as r cross join lateral json_each_text(r.metadata) as m
on conflict do nothing;
