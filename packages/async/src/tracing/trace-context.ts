import type { SpanContext } from '@opentelemetry/api';
import { boundTracestate, toTraceState } from './tracestate.ts';

/** The headers of W3C Trace Context. Both are empty without a trace. */
export interface TraceContext {
  readonly traceparent: string;
  /** Empty, or valid list members of at most 512 characters; see {@link boundTracestate}. */
  readonly tracestate: string;
}

/** Context of a request that is not traced. */
export const untraced: TraceContext = { traceparent: '', tracestate: '' };

/** A span of another process, or an earlier span of this process. */
export type RemoteParent = SpanContext;

const pattern = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/;
const zeros = /^0+$/;

/** Flags that are passed on: the trace is sampled, and its ID is random (level 2). Others have no meaning yet. */
const knownFlags = 0b11;

/**
 * Parses trace context headers (W3C, level 2); undefined if the traceparent is malformed. Uses the first four
 * fields of later versions. Invalid members of the tracestate are dropped.
 */
export function parseTraceContext({
  traceparent,
  tracestate,
}: {
  readonly [Header in keyof TraceContext]?: string | undefined;
}): RemoteParent | undefined {
  if (!traceparent) return undefined;
  const [, traceId = '', spanId = '', flags = '', rest] = pattern.exec(traceparent) ?? [];
  if (traceId === '' || zeros.test(traceId) || zeros.test(spanId)) return undefined;
  if (rest === '-' && traceparent.startsWith('00')) return undefined;
  const state = boundTracestate(tracestate);
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16) & knownFlags,
    isRemote: true,
    ...(state === '' ? {} : { traceState: toTraceState(state) }),
  };
}

/** Formats trace context headers with this span as the parent. */
export function traceContextOf({ traceId, spanId, traceFlags, traceState }: SpanContext): TraceContext {
  return {
    traceparent: `00-${traceId}-${spanId}-0${traceFlags & knownFlags}`,
    tracestate: traceState?.serialize() ?? '',
  };
}

/** Returns the trace ID of a traceparent; empty if malformed. */
export function traceIdOf(traceparent: string): string {
  return parseTraceContext({ traceparent })?.traceId ?? '';
}
