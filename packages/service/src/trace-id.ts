const traceparent = /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}/;

/** The trace id of a traceparent (W3C Trace Context), for log lines; undefined: it is empty, or none. */
export function traceIdOf(text: string): string | undefined {
  return text === '' ? undefined : traceparent.exec(text)?.[1];
}
