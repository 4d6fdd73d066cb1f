-- Conditions of the rules about quotas and expiring keys that hold and have been reported by an operational event,
-- whether or not the rule is enabled. A row is deleted when its condition ends.
create table alerts.reported_conditions (
  workspace_id text collate "C" not null,
  environment  text collate "C" not null,
  kind         text collate "C" not null check (kind in ('quota', 'key_expiry')),
  -- As in alerts.incidents.
  subject_id   text collate "C" not null,
  primary key (workspace_id, environment, kind, subject_id)
);

-- The previous release reported these conditions when their incidents opened.
insert into alerts.reported_conditions
select distinct workspace_id, environment, kind, subject_id from alerts.incidents
 where state = 'open' and kind in ('quota', 'key_expiry');
