-- Settings of the requests to an endpoint.
alter table webhooks.webhooks
  -- Custom headers of every request, without the secret ones: {"name": "value"}, in the order given.
  add column headers               json not null default '{}',
  -- Names of the headers whose values are secret. Their values are encrypted, as the same kind of object.
  add column secret_headers        text[] not null default '{}',
  add column secret_headers_sealed bytea,
  -- Within this time, the complete response must arrive.
  add column timeout_ms            integer not null default 10000 check (timeout_ms between 1000 and 30000),
  -- Another header with the value of X-Service-Signature. Null: none.
  add column signature_alias       text;
