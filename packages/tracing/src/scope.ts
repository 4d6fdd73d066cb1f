import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '@opentelemetry/api';
import { traceparentOf } from './traceparent.ts';
import { isTracing } from './tracer.ts';

const none: readonly Span[] = [];
/** Used in traced processes only: on Node 20 a store that is in use makes every promise dearer. */
const storage = new AsyncLocalStorage<readonly Span[]>();

/** The spans that what happens here is part of: one for a request, one of each request for what is done for many at once. */
export function activeSpans(): readonly Span[] {
  return isTracing() ? (storage.getStore() ?? none) : none;
}

/** Runs `work`, and what follows from it, as part of these spans. */
export function inSpans<T>(spans: readonly Span[], work: () => T): T {
  return isTracing() ? storage.run(spans, work) : work();
}

/** Runs what is begun here and is no part of it. */
export function outsideSpans<T>(work: () => T): T {
  return inSpans(none, work);
}

/** What carries the active span on: a traceparent; empty if nothing is traced here. */
export function activeTraceparent(): string {
  const [span] = activeSpans();
  return span ? traceparentOf(span.spanContext()) : '';
}
