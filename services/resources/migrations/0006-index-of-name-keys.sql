-- no transaction
create index concurrently if not exists resources_by_name_key
  on resources.resources (workspace_id, environment, status, resources.name_key(name), id);
