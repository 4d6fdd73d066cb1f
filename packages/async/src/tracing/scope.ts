import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '@opentelemetry/api';
import { type TraceContext, traceContextOf, untraced } from './trace-context.ts';
import { isTracing } from './tracer.ts';

const none: readonly Span[] = [];
/** The current spans. Never set in processes without tracing. */
const storage = new AsyncLocalStorage<readonly Span[]>();

/** Returns the current spans: one for a single request, one per request for a batch. */
export function activeSpans(): readonly Span[] {
  return isTracing() ? (storage.getStore() ?? none) : none;
}

/** Runs `work` and its asynchronous continuations within these spans. */
export function inSpans<T>(spans: readonly Span[], work: () => T): T {
  return isTracing() ? storage.run(spans, work) : work();
}

/** Runs `work` outside of the current spans. */
export function outsideSpans<T>(work: () => T): T {
  return inSpans(none, work);
}

/** Returns the trace context of the current span. */
export function activeTraceContext(): TraceContext {
  const [span] = activeSpans();
  return span ? traceContextOf(span.spanContext()) : untraced;
}
