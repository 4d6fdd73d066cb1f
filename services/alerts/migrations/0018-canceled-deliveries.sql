-- Canceled deliveries, which count neither as delivered nor as failed.
alter table alerts.delivery_counts add column canceled bigint not null default 0;
