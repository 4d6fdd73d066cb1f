-- Bounds the rows of auth.requests per workspace, environment and day (UTC), and counts the requests that it leaves out:
-- those above the bound, and refused requests that gateways did not record.
create table auth.request_counts (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null check (environment in ('live', 'sandbox')),
  day          date   not null,
  stored       bigint not null,
  left_out     bigint not null,
  primary key (workspace_id, environment, day)
);

create index request_counts_by_day on auth.request_counts (day);
