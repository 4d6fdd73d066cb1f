import type { Attributes, Link, Span, SpanContext } from '@opentelemetry/api';
import { toRmsError } from '@rms/errors';
import { attribute } from './attributes.ts';
import { currentTracer, type SpanKind } from './tracer.ts';

/** A step to trace. */
export interface Step {
  /** Of few different values: no ids. */
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes?: Attributes;
  /** Milliseconds since 1970; default: now. */
  readonly startTime?: number;
}

/** OpenTelemetry's SpanStatusCode.ERROR. */
const statusError = 2;

/**
 * Begins a span; undefined in a process that is not traced.
 * @param parent undefined: it begins a trace
 */
export function startSpan(step: Step, parent: SpanContext | undefined, links: Link[] = []): Span | undefined {
  const { name, kind, attributes = {}, startTime } = step;
  return currentTracer()?.start(name, { kind, parent, attributes, links, startTime });
}

/**
 * Begins a span in each of several traces for one step that serves them all. All but the first are linked to the first, and
 * say how many requests shared the step.
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

/** Ends a span. Of an error it says the code; its text could hold anything. */
export function endSpan(span: Span | undefined, error?: unknown): void {
  if (!span) return;
  if (error !== undefined) markFailed(span, error);
  span.end();
}

export function endSpans(spans: readonly Span[], error?: unknown): void {
  for (const span of spans) endSpan(span, error);
}

/** An error that the caller has caused is an answer like any other (semantic conventions: not an error of the server). */
function markFailed(span: Span, error: unknown): void {
  const { code: own } = error as { code?: unknown };
  const { code, kind } = toRmsError(error);
  const type = code === 'internal_error' && typeof own === 'string' ? own : code;
  if (kind.httpStatus >= 500) failSpan(span, type);
  else span.setAttribute(attribute.errorType, type);
}

/** Marks a span as failed, by the class of its error. */
export function failSpan(span: Span, errorType: string): void {
  span.setAttribute(attribute.errorType, errorType);
  span.setStatus({ code: statusError });
}
