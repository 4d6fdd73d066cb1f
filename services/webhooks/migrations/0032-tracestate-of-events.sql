-- W3C tracestate of the request, sent with the traceparent of each attempt; at most 512 characters. Null: none.
alter table webhooks.events add column tracestate text;
