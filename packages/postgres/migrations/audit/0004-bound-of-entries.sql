-- The table becomes the first monthly partition: it holds all entries until the end of next month. The name of the
-- constraint contains that month. The next file checks the existing rows without blocking writers, so that the table can
-- then be attached without another scan.

-- The least ID of an audit entry of a time; see packages/ids.
create function audit.first_id(at timestamptz) returns text
language plpgsql immutable strict set search_path = pg_catalog, pg_temp as $$
declare
  rest bigint := floor(extract(epoch from at) * 1000);
  text text := '';
begin
  for i in 1..10 loop
    text := substr('0123456789abcdefghjkmnpqrstvwxyz', (rest % 32)::integer + 1, 1) || text;
    rest := rest / 32;
  end loop;
  return 'aud_' || text;
end
$$;

do $$
declare
  month date := date_trunc('month', (now() at time zone 'UTC') + interval '1 month');
begin
  execute format('alter table audit.entries add constraint %I check (id < %L) not valid',
    'until_' || to_char(month, 'YYYYMM'),
    audit.first_id((month + interval '1 month') at time zone 'UTC'));
end
$$;
