-- Links that give an account another e-mail address.
create table auth.email_changes (
  -- SHA-256 of the token; the token itself is in the mail only.
  token_hash bytea primary key,
  user_id    text collate "C" not null references auth.users,
  email      text not null,
  email_key  text collate "C" not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index email_changes_by_user on auth.email_changes (user_id);

-- Since when a user is not let in; null: they are.
alter table auth.users add column disabled_at timestamptz;
