-- The attempts of a delivery are bounded in number and size, and lists read only the last one (docs/adr/0010).

alter table webhooks.deliveries
  -- All attempts of the delivery, including those that are no longer stored. Null: the number of the last stored one.
  add column attempt_count integer,
  -- The last attempt without headers and body. Null: taken from the stored attempts.
  add column last_attempt  jsonb,
  -- How often the delivery was sent again, by redeliveries and replays.
  add column redeliveries  integer not null default 0,
  -- End of the lease of the instance that attempts the delivery; null: no attempt is in flight.
  add column leased_until  timestamptz,
  -- Whether a redelivery was requested during an attempt. If that attempt fails, the delivery is due immediately.
  add column redelivery_requested boolean not null default false;

alter table webhooks.delivery_log
  add column attempt_count integer,
  add column last_attempt  jsonb,
  add column redeliveries  integer not null default 0;

-- Failed steps since the last successful one.
alter table webhooks.replays add column failures integer not null default 0;

-- Order of the notices of a webhook: assigned while the transaction holds the lock of the webhook's row.
alter table webhooks.notices add column sequence bigint generated always as identity;

-- Bounds the stored attempts of a delivery to 100 attempts and 256 KiB. Keeps the first 10 within 64 KiB and the last 90
-- within 192 KiB, and always the first and the last one. An attempt has at most about 64 KiB.
create function webhooks.kept_attempts(attempts jsonb) returns jsonb
language plpgsql immutable strict parallel safe as $$
begin
  -- The concatenation expands a compressed value, which pg_column_size() would underestimate.
  if jsonb_array_length(attempts) <= 100 and pg_column_size(attempts || '[]') <= 262144 then
    return attempts;
  end if;
  return (
    select jsonb_agg(one order by place)
      from (
        select one, place, count(*) over () as total,
               sum(pg_column_size(one)) over (order by place) as bytes_from_first,
               sum(pg_column_size(one)) over (order by place desc) as bytes_from_last
          from jsonb_array_elements(attempts) with ordinality as each (one, place)
      ) as each
     where place = 1 or place = total
        or (place <= 10 and bytes_from_first <= 65536)
        or (place > total - 90 and bytes_from_last <= 196608));
end
$$;

-- An attempt without its headers and its body, as lists show it.
create function webhooks.attempt_summary(attempt jsonb) returns jsonb
language sql immutable strict parallel safe
  return attempt - '{request_headers,response_headers,response_body,response_bytes}'::text[];

-- Numbers an attempt, appends it to the stored ones and bounds them.
create function webhooks.add_attempt(stored jsonb, attempt jsonb, out attempts jsonb, out attempt_count integer,
                                     out last_attempt jsonb)
language plpgsql immutable parallel safe as $$
begin
  attempt_count := coalesce((stored -> -1 ->> 'number')::integer, 0) + 1;
  attempt := jsonb_set(attempt, '{number}', to_jsonb(attempt_count));
  attempts := webhooks.kept_attempts(stored || attempt);
  last_attempt := webhooks.attempt_summary(attempt);
end
$$;
