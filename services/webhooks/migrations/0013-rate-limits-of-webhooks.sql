-- Limits of the attempts at an endpoint, for all instances together. requests_per_second is null: no limit per second.
alter table webhooks.webhooks
  add column max_concurrency     integer not null default 32 check (max_concurrency between 1 and 1000),
  add column requests_per_second double precision check (requests_per_second between 0.01 and 10000);
