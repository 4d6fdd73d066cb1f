-- Recipients of alert emails who are not members of the workspace: asked to confirm, or confirmed. The address in lower case.
create table alerts.outside_recipients (
  workspace_id text collate "C" not null,
  address      text collate "C" not null,
  asked_at     timestamptz not null,
  -- Null: not confirmed, so the address receives no alerts.
  confirmed_at timestamptz,
  primary key (workspace_id, address)
);
create index outside_recipients_unconfirmed on alerts.outside_recipients (asked_at) where confirmed_at is null;

-- Recipients that were added before confirmations existed remain.
insert into alerts.outside_recipients (workspace_id, address, asked_at, confirmed_at)
select distinct workspace_id, lower(address), now(), now() from alerts.rules, unnest(recipients) as address;

-- Counters of emails that users request, by the hash of a workspace or address (generic cell rate algorithm).
create table alerts.throttles (
  subject    bytea primary key,
  arrival_at timestamptz not null
) with (fillfactor = 70);
create index throttles_by_arrival on alerts.throttles (arrival_at);
