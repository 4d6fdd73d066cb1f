-- Lists of a tenant's requests, newest first. Building the index blocks reports of requests; gateways repeat them, and
-- API requests do not wait for them.
create index requests_by_time on auth.requests (workspace_id, environment, started_at);
