-- Empty: written by the previous release.
alter table webhooks.end_counts add column event_type text collate "C" not null default '';
