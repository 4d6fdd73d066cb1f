import type { Attributes, Link, Span, SpanContext } from '@opentelemetry/api';
import { toRmsError } from '@rms/base/errors';
import { attribute } from './attributes.ts';
import { activeSpans, inSpans } from './scope.ts';
import { currentTracer, type SpanKind } from './tracer.ts';

/** A step to trace. */
export interface Step {
  /** Name with few distinct values: no IDs. */
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
  /** Milliseconds since 1970; default: now. */
  readonly startTime?: number;
}

/** OpenTelemetry's SpanStatusCode.ERROR. */
const statusError = 2;

/**
 * Starts a span. Returns undefined if this process is not traced.
 * @param parent undefined: the span starts a trace
 */
export function startSpan(step: Step, parent: SpanContext | undefined, links: Link[] = []): Span | undefined {
  const { name, kind, attributes = {}, startTime } = step;
  return currentTracer()?.start(name, { kind, parent, attributes, links, startTime });
}

/**
 * Starts one span in each of several traces for a step that they share. Each later span is linked to the first span. An
 * attribute of every span contains the number of requests.
 */
export function startSpans(step: Step, parents: readonly SpanContext[]): Span[] {
  const shared = parents.length < 2 ? step : { ...step, attributes: shareOf(step, parents.length) };
  const spans: Span[] = [];
  for (const parent of parents) {
    const [first] = spans;
    const links = first ? [{ context: first.spanContext() }] : [];
    const span = startSpan(shared, parent, links);
    if (span) spans.push(span);
  }
  return spans;
}

function shareOf({ attributes }: Step, requests: number): Attributes {
  return { [attribute.batchSize]: requests, ...attributes };
}

/** Ends a span. Records only the code of an error, because its message may contain anything. */
export function endSpan(span: Span | undefined, error?: unknown): void {
  if (!span) return;
  if (error !== undefined) markFailed(span, error);
  span.end();
}

/** Ends the spans of all requests of a batch; see {@link endSpan}. */
export function endSpans(spans: readonly Span[], error?: unknown): void {
  for (const span of spans) endSpan(span, error);
}

/**
 * Records an error. An error caused by the caller does not fail the span (semantic conventions: it is not a server
 * error).
 */
function markFailed(span: Span, error: unknown): void {
  const { code: own } = error as { code?: unknown };
  const { code, kind } = toRmsError(error);
  const type = code === 'internal_error' && typeof own === 'string' ? own : code;
  if (kind.httpStatus >= 500) failSpan(span, type);
  else span.setAttribute(attribute.errorType, type);
}

/** Marks a span as failed with the type of its error. */
export function failSpan(span: Span, errorType: string): void {
  span.setAttribute(attribute.errorType, errorType);
  span.setStatus({ code: statusError });
}

/**
 * Runs `work` as a step of every active trace; without a trace, only runs `work`. A step shared by several requests
 * gets a span in each sampled trace and, if it fails, in each unsampled trace.
 */
export async function traced<T>(step: () => Step, work: () => Promise<T>): Promise<T> {
  const parents = activeSpans();
  if (parents.length === 0) return work();
  const now = parents.length === 1 ? parents : parents.filter(isSampled);
  const ifItFails = now.length === parents.length ? [] : parents.filter((parent) => !isSampled(parent));
  const startTime = Date.now();
  const spans = now.length === 0 ? [] : startSpans(step(), now.map(contextOf));
  try {
    const result = await inSpans([...spans, ...ifItFails], work);
    endSpans(spans);
    return result;
  } catch (error) {
    endSpans(spans, error);
    if (ifItFails.length > 0) endSpans(startSpans({ ...step(), startTime }, ifItFails.map(contextOf)), error);
    throw error;
  }
}

function isSampled(span: Span): boolean {
  return (contextOf(span).traceFlags & 1) === 1;
}

function contextOf(span: Span) {
  return span.spanContext();
}
