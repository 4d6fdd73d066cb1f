import type { SpanContext, TraceState } from '@opentelemetry/api';

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

/** Limits of W3C Trace Context. */
const maxMembers = 32;
const maxLength = 512;
/** Members that are longer are dropped first if the list is too long. */
const longMember = 128;

/** A key begins with a letter or a digit (level 2); a value is printable ASCII without comma and equals sign. */
const member = /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/**
 * Returns the valid list members of a tracestate, each key once, within the limits of W3C Trace Context: at most 32
 * members and 512 characters. Of a longer list, it drops members of more than 128 characters first, and then members
 * from the right, which are the oldest. OpenTelemetry's class drops the whole list if it is too long, rejects keys that
 * begin with a digit, and would have to be loaded in processes without tracing.
 */
function boundTracestate(text: string | undefined): string {
  if (!text) return '';
  const members = new Map<string, string>();
  for (const part of text.split(',')) {
    const trimmed = part.trim();
    const key = keyOf(trimmed);
    if (member.test(trimmed) && !members.has(key)) members.set(key, trimmed);
    if (members.size === maxMembers) break;
  }
  const kept = [...members.values()];
  let length = kept.reduce((sum, one) => sum + one.length + 1, -1);
  for (const isDropped of [(one: string) => one.length > longMember, () => true]) {
    for (let i = kept.length - 1; i >= 0 && length > maxLength; i -= 1) {
      const one = kept[i] ?? '';
      if (!isDropped(one)) continue;
      length -= one.length + 1;
      kept.splice(i, 1);
    }
  }
  return kept.join(',');
}

/** Wraps the result of {@link boundTracestate} for OpenTelemetry. */
function toTraceState(text: string): TraceState {
  const members = text === '' ? [] : text.split(',');
  const without = (key: string) => members.filter((one) => keyOf(one) !== key);
  return {
    serialize: () => text,
    get: (key) => members.find((one) => keyOf(one) === key)?.slice(key.length + 1),
    set: (key, value) => toTraceState(boundTracestate([`${key}=${value}`, ...without(key)].join(','))),
    unset: (key) => toTraceState(without(key).join(',')),
  };
}

function keyOf(listMember: string): string {
  return listMember.slice(0, Math.max(0, listMember.indexOf('=')));
}
