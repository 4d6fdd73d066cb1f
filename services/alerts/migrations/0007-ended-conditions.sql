-- When a condition was last reported, and when it ended. A condition that begins again within a day after its end is not
-- reported again, so its row is kept for that long.
alter table alerts.reported_conditions
  add column reported_at timestamptz not null default now(),
  add column ended_at    timestamptz;
