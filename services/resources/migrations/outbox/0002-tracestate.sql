-- W3C tracestate of the request, passed on with its traceparent; at most 512 characters. Null: none.
alter table outbox.events add column tracestate text;
