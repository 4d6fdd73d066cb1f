-- Pace of audited changes by subject; see packages/db/src/throttle.ts.
create table audit.throttles (
  subject    bytea primary key,
  arrival_at timestamptz not null
);

create index throttles_by_arrival on audit.throttles (arrival_at);
