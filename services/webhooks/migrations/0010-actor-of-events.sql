-- Who made the change: "key:key_…", "user:usr_…"; empty: unknown.
alter table webhooks.events add column actor text not null default '';
