-- Email address by which the identity was linked, and the client address. Null: linked by an earlier release.
alter table auth.identities add column email text, add column client_address text;
