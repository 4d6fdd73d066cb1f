-- Workspaces and their plans, API keys, dashboard users, and the request log. Users belong to the installation, so the
-- primary keys of this schema do not all begin with the workspace.

-- Workspaces

-- Named sets of limits. Few rows, which all workspaces share. Null: the setting of the installation; 0: no limit.
create table auth.plans (
  name                          text collate "C" primary key,
  -- Requests of one API key per window.
  rate_limit_requests           bigint,
  rate_limit_window_seconds     bigint,
  monthly_quota                 bigint,
  created_at                    timestamptz not null default now(),
  updated_at                    timestamptz not null default now(),
  -- Requests of all keys of a workspace in an environment per window.
  workspace_rate_limit_requests bigint,
  -- Valid keys of a workspace.
  max_keys                      bigint,
  -- Webhooks of a workspace in both environments.
  max_webhooks                  bigint
);

create table auth.workspaces (
  id                  text collate "C" primary key,
  name                text not null,
  created_at          timestamptz not null default now(),
  -- Null: the settings of the installation apply.
  plan                text collate "C" references auth.plans,
  -- Null: the workspace is not being deleted. The row remains until all its contents are deleted.
  deletion_started_at timestamptz
);

-- API keys

create table auth.keys (
  workspace_id        text collate "C" not null references auth.workspaces,
  environment         text collate "C" not null check (environment in ('live', 'sandbox')),
  id                  text collate "C" not null,
  -- SHA-256 of the key. The key itself is not stored.
  hash                bytea not null,
  hint                text not null,
  name                text not null,
  scope               text not null check (scope in ('read', 'write', 'admin', 'restricted')),
  -- CIDRs in normal form; empty: any address.
  allowed_ips         text[] not null default '{}',
  created_at          timestamptz not null default now(),
  expires_at          timestamptz,
  revoked_at          timestamptz,
  -- End of the overlap after a roll, from which on the key is expired.
  rolled_at           timestamptz,
  replaced_by_id      text collate "C",
  -- 'user:usr_…', 'key:key_…', 'operator:alice@laptop' or 'system'; empty: unknown.
  created_by          text not null default '',
  -- Counts changes. A revocation marker with a higher version invalidates cached verdicts (docs/adr/0007).
  version             bigint not null default 1,
  -- Lowers the limit of the plan for this key. Null: the limit of the plan.
  rate_limit_requests bigint,
  -- Of a restricted key, for example 'deliveries:read'.
  permissions         text[] not null default '{}'
                      constraint keys_permissions_check check ((scope = 'restricted') = (permissions <> '{}')),
  primary key (workspace_id, environment, id)
);

-- Verifies a key of which no gateway has a cached verdict.
create unique index keys_hash on auth.keys (hash);
-- Operators find the workspace of a key by its ID alone. A hash index has no order, so lists of one workspace, ordered
-- by ID, never use it.
create index keys_by_hash_of_id on auth.keys using hash (id);
-- Finds the valid keys of a workspace among any number of expired keys.
create index keys_by_end on auth.keys (workspace_id, coalesce(least(expires_at, rolled_at), 'infinity'))
  where revoked_at is null;
-- Keys of a workspace that are not revoked, locked to revoke them or to change their limits.
create index keys_unrevoked on auth.keys (workspace_id) where revoked_at is null;

-- Committed changes of keys whose revocation markers are not yet in Redis. A row lives for milliseconds while Redis is
-- available.
create table auth.pending_markers (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key_id       text collate "C" not null,
  version      bigint not null,
  primary key (workspace_id, environment, key_id)
);

-- The most recent clients of each key, as reported by the gateways.
create table auth.key_uses (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key_id       text collate "C" not null,
  address      text collate "C" not null,
  user_agent   text collate "C" not null,
  last_used_at timestamptz not null,
  requests     bigint not null,
  primary key (workspace_id, environment, key_id, address, user_agent)
) with (fillfactor = 80);

-- The most recent refused request of each key that has any.
create table auth.key_refusals (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  key_id       text collate "C" not null,
  refused_at   timestamptz not null,
  error_code   text not null,
  primary key (workspace_id, environment, key_id)
);

-- Responses to requests with an Idempotency-Key, for 24 hours. The key is a hash that includes workspace and
-- environment.
create table auth.idempotency_keys (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  key          text collate "C" not null,
  fingerprint  bytea not null,
  -- Encrypted, because it may contain the value of an API key.
  answer       bytea not null,
  expires_at   timestamptz not null,
  primary key (workspace_id, environment, key)
);

-- Housekeeping deletes expired rows; re-encryption reads pages of rows by their key alone.
create index idempotency_keys_by_expiry on auth.idempotency_keys (expires_at);
create index idempotency_keys_by_key on auth.idempotency_keys (key);

-- Users

-- Owners of dashboard accounts.
create table auth.users (
  id                    text collate "C" primary key,
  email                 text not null,
  -- The email address in the form by which a user is found, without regard to case.
  email_key             text collate "C" not null unique,
  name                  text not null default '',
  -- Argon2id as a PHC string. Null: no password.
  password_hash         text,
  -- Increases when all sessions of the user end.
  session_generation    bigint not null default 1,
  created_at            timestamptz not null default now(),
  last_sign_in_at       timestamptz,
  -- Encrypted secret of the authenticator app. Null: no second factor.
  second_factor_sealed  bytea,
  -- Time step of the last accepted code. Codes up to it are rejected.
  second_factor_step    bigint not null default 0,
  -- Encrypted secret that no code has confirmed yet, and the time at which it was made.
  pending_factor_sealed bytea,
  pending_factor_at     timestamptz,
  -- Null: the user is not disabled.
  disabled_at           timestamptz
);

-- Members: the role of a user in a workspace.
create table auth.memberships (
  workspace_id text collate "C" not null references auth.workspaces,
  user_id      text collate "C" not null references auth.users,
  role         text collate "C" not null check (role in ('viewer', 'developer', 'admin', 'owner')),
  created_at   timestamptz not null default now(),
  primary key (workspace_id, user_id)
);

-- Workspaces of a user.
create index memberships_by_user on auth.memberships (user_id);

create table auth.invitations (
  workspace_id text collate "C" not null references auth.workspaces,
  id           text collate "C" not null,
  email        text not null,
  email_key    text collate "C" not null,
  role         text collate "C" not null check (role in ('viewer', 'developer', 'admin', 'owner')),
  -- SHA-256 of the token, which is only in the email.
  token_hash   bytea not null,
  -- 'user:usr_…' or 'operator:alice@laptop'.
  invited_by   text not null,
  created_at   timestamptz not null default now(),
  expires_at   timestamptz not null,
  primary key (workspace_id, id),
  -- Inviting an address again replaces its invitation.
  constraint invitations_email unique (workspace_id, email_key)
);

-- Accepts an invitation by the token of its link.
create unique index invitations_token on auth.invitations (token_hash);
-- Invitations of an address that an identity provider has verified.
create index invitations_by_email on auth.invitations (email_key);
-- Housekeeping deletes expired invitations.
create index invitations_by_expiry on auth.invitations (expires_at);

-- Links to choose another password. A user can have several, so that requesting one does not invalidate the previous
-- one.
create table auth.password_resets (
  -- SHA-256 of the token, which is only in the email.
  token_hash bytea primary key,
  user_id    text collate "C" not null references auth.users,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

-- Links of a user, which end when the password changes; and expired ones, which housekeeping deletes.
create index password_resets_by_user on auth.password_resets (user_id);
create index password_resets_by_expiry on auth.password_resets (expires_at);

-- Links that confirm another email address for an account.
create table auth.email_changes (
  -- SHA-256 of the token, which is only in the email.
  token_hash bytea primary key,
  user_id    text collate "C" not null references auth.users,
  email      text not null,
  email_key  text collate "C" not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);

-- Links of a user, of which only the most recent one is valid; and expired ones, which housekeeping deletes.
create index email_changes_by_user on auth.email_changes (user_id);
create index email_changes_by_expiry on auth.email_changes (expires_at);

-- Codes that replace a lost authenticator, each once.
create table auth.recovery_codes (
  user_id   text collate "C" not null references auth.users,
  -- SHA-256 of the code, which has 80 random bits.
  code_hash bytea not null,
  primary key (user_id, code_hash)
);

-- Accounts at OpenID Connect providers with which users sign in.
create table auth.identities (
  issuer         text collate "C" not null,
  subject        text collate "C" not null,
  user_id        text collate "C" not null references auth.users,
  linked_at      timestamptz not null default now(),
  -- Email address by which the identity was linked, and address of the client. Null: unknown.
  email          text,
  client_address text,
  primary key (issuer, subject)
);

-- Identities of a user.
create index identities_by_user on auth.identities (user_id);

-- Networks from which a user has signed in. Failed sign-ins from other networks do not lock the user out there.
create table auth.known_networks (
  user_id         text collate "C" not null references auth.users,
  -- An IPv4 address, or the /64 of an IPv6 address.
  network         text collate "C" not null,
  last_sign_in_at timestamptz not null default now(),
  primary key (user_id, network)
);

-- Housekeeping deletes networks that have not been used for long.
create index known_networks_by_sign_in on auth.known_networks (last_sign_in_at);

-- Limits sign-ins and similar attempts of an account or from an address, by the generic cell rate algorithm.
create table auth.throttles (
  -- A keyed hash, because users also type passwords into a field for email addresses.
  subject    bytea primary key,
  -- Time at which the subject has its full burst again.
  arrival_at timestamptz not null
) with (fillfactor = 80);

-- Housekeeping deletes counters that no longer limit anything.
create index throttles_by_arrival on auth.throttles (arrival_at);

-- Emails of accounts, until the alerts service has taken them over. A queue: rows live for seconds.
create table auth.email_requests (
  id           text collate "C" primary key,
  -- rms.auth.v1.EmailRequest, encrypted, because it contains tokens and addresses.
  sealed       bytea not null,
  created_at   timestamptz not null default now(),
  -- Time from which on the email is not sent.
  expires_at   timestamptz not null,
  -- End of the lease of the instance that takes the row over.
  leased_until timestamptz not null default '-infinity'
);

-- Housekeeping deletes expired rows.
create index email_requests_by_expiry on auth.email_requests (expires_at);

-- The request log

-- Recent API requests, as reported by the gateways; the source of `rms trace`. Partitioned by day (UTC).
create table auth.requests (
  -- Empty: the request had no valid key.
  workspace_id     text collate "C" not null,
  environment      text collate "C" not null check (environment in ('live', 'sandbox')),
  -- The X-Request-ID. Clients can send the same one more than once.
  request_id       text collate "C" not null,
  started_at       timestamptz not null,
  -- Empty: the request was not traced.
  trace_id         text not null,
  method           text not null,
  -- As in the OpenAPI document: "/v1/resources/:id". Empty: no route matched.
  route            text not null,
  -- 0: the client disconnected before the response.
  status           integer not null,
  -- Empty: no error.
  error_code       text not null,
  key_id           text collate "C" not null,
  -- Whether the response was the stored one of the idempotency key.
  replayed         boolean not null,
  -- Milliseconds from the start to the end of each step. Null: the step was not reached.
  authenticated_ms real,
  limited_ms       real,
  handled_ms       real,
  duration_ms      real not null,
  -- 'user:usr_…' of a request in the dashboard; empty: it was made with an API key.
  actor            text not null default '',
  -- Empty: not recorded.
  path             text not null default '',
  client_address   text not null default '',
  primary key (workspace_id, environment, request_id, started_at)
) partition by range (started_at);

-- Lists of a tenant's requests, newest first.
create index requests_by_time on auth.requests (workspace_id, environment, started_at);

-- Creates the missing partitions of the days from a day to another one, and returns their number. This function and
-- auth.drop_partitions() follow the rules of webhooks.make_partitions() and webhooks.drop_partitions(), which explain
-- why readers and writers are not blocked.
create function auth.make_partitions(first_day date, last_day date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '2s' as $$
declare
  day date;
  name text;
  made integer := 0;
begin
  perform pg_advisory_xact_lock(7267005);
  for day in select generate_series(first_day, last_day, interval '1 day')::date loop
    name := 'requests_' || to_char(day, 'YYYYMMDD');
    continue when to_regclass('auth.' || name) is not null;
    execute format('create table auth.%I (like auth.requests including all)', name);
    execute format('alter table auth.requests attach partition auth.%I for values from (%L) to (%L)', name,
      day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
    made := made + 1;
  end loop;
  return made;
end
$$;

-- Drops the oldest partition of the days before a day, and returns the number of dropped partitions. Raises
-- lock_not_available if the table is in use for longer; the caller tries again later.
create function auth.drop_partitions(before date) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
declare
  oldest regclass;
  holders text[];
begin
  if not pg_try_advisory_xact_lock(7267005) then
    raise lock_not_available using message = 'another session is creating or dropping partitions';
  end if;
  select c.oid into oldest from pg_inherits join pg_class as c on c.oid = inhrelid
   where inhparent = 'auth.requests'::regclass
     and c.relname ~ '_\d{8}$' and to_date(right(c.relname, 8), 'YYYYMMDD') < before
   order by right(c.relname, 8) limit 1;
  if oldest is null then
    return 0;
  end if;
  select array_agg(virtualtransaction) into holders from pg_locks
   where relation in (oldest, 'auth.requests'::regclass) and granted and pid is distinct from pg_backend_pid()
     and database = (select oid from pg_database where datname = current_database());
  if holders is not null then
    perform pg_sleep(0.2);
    if exists (select from pg_locks
                where relation in (oldest, 'auth.requests'::regclass) and granted and virtualtransaction = any(holders)
                  and database = (select oid from pg_database where datname = current_database())) then
      raise lock_not_available using message = format('a long transaction is using %s', oldest);
    end if;
  end if;
  lock table only auth.requests in access exclusive mode;
  execute format('drop table %s', oldest);
  return 1;
end
$$;

select auth.make_partitions((now() at time zone 'UTC')::date - 1, (now() at time zone 'UTC')::date + 7);

-- Rows of auth.requests per tenant and day (UTC), which are bounded, and the number of requests that are left out:
-- those above the bound, and refused requests that gateways did not record.
create table auth.request_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  day          date   not null,
  stored       bigint not null,
  left_out     bigint not null,
  primary key (workspace_id, environment, day)
);

-- Housekeeping deletes the counts of days without a partition.
create index request_counts_by_day on auth.request_counts (day);

-- Deletion and expiry

-- Deleted workspaces whose rows that arrive later are deleted too (packages/postgres/src/workspace-deletion).
create table auth.deleted_workspaces (
  workspace_id text collate "C" primary key,
  deleted_at   timestamptz not null default now(),
  -- Number of deleted rows by table.
  deleted_rows jsonb not null default '{}',
  -- Time of the next search for late rows.
  sweep_at     timestamptz not null
) with (fillfactor = 50);

-- Housekeeping takes the workspaces that are due.
create index deleted_workspaces_by_sweep on auth.deleted_workspaces (sweep_at);

-- The time by which rows of this schema expire, agreed by the clock of PostgreSQL and the monotonic clocks of the
-- instances (packages/postgres/src/db/agreed-clock.ts). No row: the clock has not been compared yet.
create table auth.clock (
  single    boolean primary key default true check (single),
  agreed_at timestamptz not null
) with (fillfactor = 10);

-- Returns the current time, but at most five minutes after the last agreed time: a clock that jumps ahead deletes
-- nothing.
create function auth.agreed_now() returns timestamptz language sql stable as $$
  select least(now(), (select agreed_at + interval '5 minutes' from auth.clock))
$$;
