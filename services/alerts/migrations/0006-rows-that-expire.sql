-- Housekeeping finds old reporters and incidents by these indexes, and a list of incidents those of a kind.
create index reporters_by_age on alerts.reporters (seen_at);
create index incidents_by_age on alerts.incidents (closed_at) where state <> 'open';
create index incidents_by_kind on alerts.incidents (workspace_id, environment, kind, id);
create index notifications_by_subject on alerts.notifications (workspace_id, environment, kind, subject_id);
