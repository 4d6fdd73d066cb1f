-- Renames auth.mail_requests and auth.pending_marks, with their indexes and constraints, in databases that are older than
-- 0001-workspaces-keys-and-users.sql. There is nothing to rename in newer ones.
alter table if exists auth.mail_requests rename to email_requests;
alter table if exists auth.pending_marks rename to pending_markers;
do $$
declare
  rename text;
begin
  for rename in
    with renamed (relation, old, new) as (values
      ('auth.email_requests'::regclass, 'mail_requests', 'email_requests'),
      ('auth.pending_markers'::regclass, 'pending_marks', 'pending_markers')
    )
    select format('alter table %s rename constraint %I to %I', relation, conname,
                  new || substr(conname, length(old) + 1))
      from renamed join pg_constraint on conrelid = relation and starts_with(conname, old || '_')
    union all
    select format('alter index auth.%I rename to %I', c.relname, new || substr(c.relname, length(old) + 1))
      from renamed join pg_index on indrelid = relation
      join pg_class as c on c.oid = indexrelid and starts_with(c.relname, old || '_')
     where not exists (select from pg_constraint where conrelid = relation and conindid = indexrelid)
  loop
    execute rename;
  end loop;
end
$$;

-- Views with the old names, for instances of the previous version during an upgrade and after a rollback. The version
-- after the next one drops them. They contain ctid, with which statements of that version select the rows of a batch.
create view auth.mail_requests as select ctid, * from auth.email_requests;
create view auth.pending_marks as select ctid, * from auth.pending_markers;

-- Services keep running during the migration, which grants privileges only at its end.
do $$
declare
  privilege text;
begin
  for privilege in
    select format('grant %s on %s to %s', a.privilege_type, alias, a.grantee::regrole)
      from (values ('auth.email_requests'::regclass, 'auth.mail_requests'),
                   ('auth.pending_markers'::regclass, 'auth.pending_marks')) as t (relation, alias)
      join pg_class on oid = relation, aclexplode(relacl) as a
     where a.grantee not in (0, relowner)
  loop
    execute privilege;
  end loop;
end
$$;
