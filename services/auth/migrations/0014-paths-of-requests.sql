-- Path and client address of a request; empty: not recorded.
alter table auth.requests
  add column path           text not null default '',
  add column client_address text not null default '';
