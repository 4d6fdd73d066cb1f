-- Time of the last change of a member's role, from which the version of the member follows. Null: none since the creation.
alter table auth.memberships add column updated_at timestamptz;
