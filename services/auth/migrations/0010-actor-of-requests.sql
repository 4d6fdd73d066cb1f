-- The user who made the request in the dashboard, "user:usr_…"; empty: it was made with an API key.
alter table auth.requests add column actor text not null default '';
