-- Waits that the clock of PostgreSQL ends are bounded where they are read: a clock that is set back must not prolong them.

-- The end of a pause of an endpoint: of its circuit (up to 15 seconds), of a lease (20 seconds) or of its rate limit (up to
-- 100 seconds). Null, so no pause, if it is more than two minutes ahead: the clock has been set back since.
create function webhooks.pause_end(at timestamptz) returns timestamptz language sql stable as $$
  select case when at <= now() + interval '2 minutes' then at end
$$;

-- As in 0014-endpoints.sql, with bounded pauses.
create or replace function webhooks.schedule_deliveries() returns trigger
language plpgsql as $$
begin
  insert into webhooks.endpoints as e (webhook_id, workspace_id, environment, next_due_at)
  select webhook_id, min(workspace_id), min(environment), min(due_at)
    from changed where due_at is not null group by webhook_id order by webhook_id
      on conflict (webhook_id) do update
     set next_due_at = greatest(excluded.next_due_at, webhooks.pause_end(e.not_before))
   where e.next_due_at is null or e.next_due_at > greatest(excluded.next_due_at, webhooks.pause_end(e.not_before));
  return null;
end
$$;
