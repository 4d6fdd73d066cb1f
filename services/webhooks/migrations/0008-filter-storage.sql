-- Filters are kept in the rows of webhooks as far as they fit, because every event reads them, and uncompressed, because
-- decompression takes longer than evaluation. A filter that does not fit is moved out of the row. With the storage
-- "main", smaller values were moved first, even the ID, and then each statement fetched the IDs from elsewhere.
alter table webhooks.webhooks set (toast_tuple_target = 8160);
alter table webhooks.webhooks alter column filter_query set storage external;
