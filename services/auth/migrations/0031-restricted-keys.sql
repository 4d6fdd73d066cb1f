-- A restricted key has the permissions that it lists, for example 'deliveries:read'.
alter table auth.keys add column permissions text[] not null default '{}';
alter table auth.keys drop constraint keys_scope_check;
alter table auth.keys add constraint keys_scope_check check (scope in ('read', 'write', 'admin', 'restricted'));
alter table auth.keys add constraint keys_permissions_check check ((scope = 'restricted') = (permissions <> '{}'));
