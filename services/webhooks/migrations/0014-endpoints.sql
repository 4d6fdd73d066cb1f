-- The schedule: one row per webhook that has had deliveries (docs/adr/0025). A poll reads the rows that are due, so its
-- cost does not depend on how many webhooks or deliveries wait.
create table webhooks.endpoints (
  webhook_id   text collate "C" primary key,
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  -- Not earlier than not_before, and not later than the earliest due_at of the webhook's deliveries or, if that is
  -- later, not_before. Null: no delivery has a due_at.
  next_due_at  timestamptz,
  -- Earliest time of the next lease: the next probe of an open circuit, or the next attempt that the rate limit allows.
  -- Null: immediately.
  not_before   timestamptz,
  -- The pause before the next probe of an open circuit, without jitter; 0: the circuit is closed.
  pause_ms     integer not null default 0,
  -- When the circuit opened. Null: it is closed.
  open_since   timestamptz,
  -- 1 from the time at which slow or failed attempts have reduced an instance's limit to 1 until the endpoint has
  -- recovered, so that other instances, also restarted ones, begin with a single attempt. Null: only the webhook's
  -- max_concurrency applies.
  concurrency  integer,
  -- The time of the next attempt at exactly the webhook's requests_per_second. Null: no limit per second, or no attempt
  -- has been counted.
  rate_at      timestamptz
) with (
  fillfactor = 50,
  autovacuum_vacuum_scale_factor = 0.02,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0
);

create index endpoints_due on webhooks.endpoints (next_due_at) where next_due_at is not null;
create index endpoints_open on webhooks.endpoints (pause_ms) where pause_ms > 0;
create index webhooks_rate_limited on webhooks.webhooks (id) where requests_per_second is not null;

-- Moves next_due_at to a new, earlier due_at, but not before not_before. Locks the endpoints in the order of their IDs,
-- even if it changes nothing. A lease locks them first and reads the deliveries afterwards. It therefore finds every
-- delivery that was stored before, and a delivery that is stored afterwards finds the next_due_at of the lease.
create function webhooks.schedule_deliveries() returns trigger
language plpgsql as $$
begin
  insert into webhooks.endpoints as e (webhook_id, workspace_id, environment, next_due_at)
  select webhook_id, min(workspace_id), min(environment), min(due_at)
    from changed where due_at is not null group by webhook_id order by webhook_id
      on conflict (webhook_id) do update set next_due_at = greatest(excluded.next_due_at, e.not_before)
   where e.next_due_at is null or e.next_due_at > greatest(excluded.next_due_at, e.not_before);
  return null;
end
$$;

create trigger schedule_inserted after insert on webhooks.deliveries
  referencing new table as changed for each statement execute function webhooks.schedule_deliveries();
create trigger schedule_updated after update on webhooks.deliveries
  referencing new table as changed for each statement execute function webhooks.schedule_deliveries();

insert into webhooks.endpoints (webhook_id, workspace_id, environment, next_due_at)
select webhook_id, min(workspace_id), min(environment), min(due_at) from webhooks.deliveries group by webhook_id;

-- The running instances, which share the concurrency limits of webhooks.
create table webhooks.instances (
  id      text primary key,
  seen_at timestamptz not null
);
