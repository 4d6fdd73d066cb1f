-- What changed, and the names of the actor and the target at that time. Entries of earlier releases have none.
alter table audit.entries
  add column actor_name  text  not null default '',
  add column target_name text  not null default '',
  -- An array of {field, before, after}.
  add column changes     jsonb not null default '[]';
