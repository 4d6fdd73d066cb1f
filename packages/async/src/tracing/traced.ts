import type { Span } from '@opentelemetry/api';
import { activeSpans, inSpans } from './scope.ts';
import { endSpans, type Step, startSpans } from './spans.ts';

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
