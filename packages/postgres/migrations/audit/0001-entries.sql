-- Who changed what. Written in the transaction of the change, then never touched.
create table audit.entries (
  -- Empty: it concerns the installation.
  workspace_id text collate "C" not null,
  -- 'live', 'sandbox'; empty: it concerns both.
  environment  text collate "C" not null,
  -- Leads with the time.
  id           text collate "C" not null,
  created_at   timestamptz not null default now(),
  actor        text not null,
  address      text not null,
  request_id   text not null,
  action       text collate "C" not null,
  target_id    text collate "C" not null,
  details      jsonb not null,
  primary key (workspace_id, environment, id)
);

create index entries_by_time on audit.entries (workspace_id, id desc);
create index entries_by_target on audit.entries (workspace_id, target_id, id desc);

-- For the owner of the table as well, which the services are where they have no roles of their own.
create function audit.refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit entries stay as they are' using errcode = 'insufficient_privilege';
end
$$;

create trigger append_only before update or delete or truncate on audit.entries
  for each statement execute function audit.refuse_change();
