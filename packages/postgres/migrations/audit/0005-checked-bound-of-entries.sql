-- Reads the table, and blocks neither readers nor writers.
do $$
begin
  execute (select format('alter table audit.entries validate constraint %I', conname) from pg_constraint
            where conrelid = 'audit.entries'::regclass and conname like 'until\_%');
end
$$;
