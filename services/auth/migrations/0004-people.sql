-- People belong to the installation: their rows are keyed by the user, those of who is where by the workspace.
create table auth.users (
  id                    text collate "C" primary key,
  email                 text not null,
  -- The e-mail address by which a user is found: without regard to case.
  email_key             text collate "C" not null unique,
  name                  text not null default '',
  -- Argon2id as a PHC string; null: no password.
  password_hash         text,
  -- Counts what ends all sessions.
  session_generation    bigint not null default 1,
  created_at            timestamptz not null default now(),
  last_sign_in_at       timestamptz,
  -- The secret of the authenticator, sealed; null: no second factor.
  second_factor_sealed  bytea,
  -- The time step of the last code that was taken: none up to it is taken again.
  second_factor_step    bigint not null default 0,
  -- One that no code has confirmed yet, and since when.
  pending_factor_sealed bytea,
  pending_factor_at     timestamptz
);

create table auth.memberships (
  workspace_id text collate "C" not null references auth.workspaces,
  user_id      text collate "C" not null references auth.users,
  role         text collate "C" not null check (role in ('viewer', 'developer', 'admin', 'owner')),
  created_at   timestamptz not null default now(),
  primary key (workspace_id, user_id)
);

create index memberships_by_user on auth.memberships (user_id);

-- Where a user has signed in from: failures of others do not keep them out there.
create table auth.known_networks (
  user_id         text collate "C" not null references auth.users,
  -- An IPv4 address, or the /64 of an IPv6 address.
  network         text collate "C" not null,
  last_sign_in_at timestamptz not null default now(),
  primary key (user_id, network)
);

-- Attempts of an account, or from an address, by the generic cell rate algorithm. A subject is a keyed hash: what people
-- type into a field for e-mail addresses is not always one.
create table auth.throttles (
  subject    bytea primary key,
  -- When all attempts so far are paid for.
  arrival_at timestamptz not null
) with (fillfactor = 80);

create index throttles_by_arrival on auth.throttles (arrival_at);
