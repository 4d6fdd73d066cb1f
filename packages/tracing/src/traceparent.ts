import type { SpanContext } from '@opentelemetry/api';

/** A span of another process, or an earlier span of this process. */
export type RemoteParent = SpanContext;

const pattern = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;
const zeros = /^0+$/;

/** Parses a traceparent (W3C Trace Context); undefined if malformed. Uses the first four fields of later versions. */
export function parseTraceparent(text: string | undefined): RemoteParent | undefined {
  if (!text) return undefined;
  const [, traceId = '', spanId = '', flags = '', rest] = pattern.exec(text) ?? [];
  if (traceId === '' || zeros.test(traceId) || zeros.test(spanId)) return undefined;
  if (rest === '-' && text.startsWith('00')) return undefined;
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
}

/** Formats a traceparent: "00-<trace>-<span>-01" if the trace is sampled, otherwise "…-00". */
export function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags & 1 ? '01' : '00'}`;
}

/** Returns the trace ID of a traceparent; empty if malformed. */
export function traceIdOf(traceparent: string): string {
  return parseTraceparent(traceparent)?.traceId ?? '';
}
