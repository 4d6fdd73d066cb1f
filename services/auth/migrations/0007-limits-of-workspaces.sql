-- Requests of all keys of a workspace in an environment together, per window; and valid keys of a workspace. Null: the
-- settings of the installation; 0: no limit.
alter table auth.plans
  add column workspace_rate_limit_requests bigint,
  add column max_keys                      bigint;

-- A key's own limit only lowers the limit of its plan. 0 meant no limit, which is now the limit of the plan.
update auth.keys set rate_limit_requests = null, version = version + 1 where rate_limit_requests = 0;
