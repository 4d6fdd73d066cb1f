create table auth.invitations (
  workspace_id text collate "C" not null references auth.workspaces,
  id           text collate "C" not null,
  email        text not null,
  email_key    text collate "C" not null,
  role         text collate "C" not null check (role in ('viewer', 'developer', 'admin', 'owner')),
  -- SHA-256 of the token; the token itself is in the mail only.
  token_hash   bytea not null,
  -- 'user:usr_…', 'operator:alice@laptop'.
  invited_by   text not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  primary key (workspace_id, id),
  -- Inviting an address again takes the place of the invitation before.
  constraint invitations_email unique (workspace_id, email_key)
);

create unique index invitations_token on auth.invitations (token_hash);

-- Links to choose another password. Several may wait: asking for one must not spoil the one before.
create table auth.password_resets (
  token_hash bytea primary key,
  user_id    text collate "C" not null references auth.users,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

create index password_resets_by_user on auth.password_resets (user_id);

-- Mails to be sent, until the service that sends mail has them. A queue: rows live for seconds.
create table auth.mail_requests (
  id           text collate "C" primary key,
  -- rms.auth.v1.MailRequest, sealed: it holds tokens and addresses.
  sealed       bytea not null,
  created_at   timestamptz not null default now(),
  -- Not worth sending from then on.
  expires_at   timestamptz not null,
  -- Nobody else gets it before then.
  leased_until timestamptz not null default '-infinity'
);

-- For who has lost the authenticator.
create table auth.recovery_codes (
  user_id   text collate "C" not null references auth.users,
  -- SHA-256 of the code, which has 80 random bits.
  code_hash bytea not null,
  primary key (user_id, code_hash)
);

-- Accounts at OpenID Connect providers by which users sign in.
create table auth.identities (
  issuer    text collate "C" not null,
  subject   text collate "C" not null,
  user_id   text collate "C" not null references auth.users,
  linked_at timestamptz not null default now(),
  primary key (issuer, subject)
);

create index identities_by_user on auth.identities (user_id);
