-- Webhooks of a workspace, both environments together. Null: the settings of the installation; 0: no limit.
alter table auth.plans add column max_webhooks bigint;
