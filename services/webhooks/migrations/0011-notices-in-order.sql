-- Notices are read in their order and deleted by ID, however many wait for the bus.
create index notices_by_sequence on webhooks.notices (sequence);
create index notices_by_id on webhooks.notices (id);
