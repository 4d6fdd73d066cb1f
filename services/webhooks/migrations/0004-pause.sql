-- A paused webhook gets deliveries, and none is attempted. Its status stays 'active', because an instance of the previous
-- release would end the queue of a webhook with any other status.
alter table webhooks.webhooks add column paused_at timestamptz;

-- Whether the webhook is paused: deliveries do not make the endpoint due. Copied from the webhook when it is paused, and
-- by a lease, because the endpoint may have been created since.
alter table webhooks.endpoints add column paused boolean not null default false;

-- Finds webhooks by their URL, which may be longer than an index entry.
create index webhooks_by_url on webhooks.webhooks (workspace_id, environment, md5(url), id);

create or replace function webhooks.schedule_deliveries() returns trigger
language plpgsql as $$
begin
  insert into webhooks.endpoints as e (webhook_id, workspace_id, environment, next_due_at)
  select webhook_id, min(workspace_id), min(environment), min(due_at)
    from changed where due_at is not null group by webhook_id order by webhook_id
      on conflict (webhook_id) do update
     set next_due_at = greatest(excluded.next_due_at, webhooks.pause_end(e.not_before))
   where not e.paused
     and (e.next_due_at is null or e.next_due_at > greatest(excluded.next_due_at, webhooks.pause_end(e.not_before)));
  return null;
end
$$;
