-- Text of the owner; at most 500 characters.
alter table webhooks.webhooks add column description text not null default '';
