import {
  attribute,
  endSpans,
  isTracing,
  parseTraceContext,
  type Span,
  spanKind,
  startSpan,
  type TraceContext,
  traceContextOf,
} from '@rms/async/tracing';
import type { PendingEvent } from './relay-queries.ts';

/** Spans for publishing events, each in its request's trace. */
export interface ProducerSpans {
  /** Returns the trace context for the event's record. */
  contextOf(event: PendingEvent): TraceContext;
  /** Ends all spans. Later calls have no effect. */
  end(error?: unknown): void;
}

const withoutSpans: ProducerSpans = { contextOf: storedContextOf, end() {} };

/** Starts a span per traced event, in its request's trace. */
export function startProducerSpans(topic: string, events: readonly PendingEvent[]): ProducerSpans {
  if (!isTracing()) return withoutSpans;
  const spans = new Map<PendingEvent, Span>();
  for (const event of events) {
    const parent = parseTraceContext(storedContextOf(event));
    const span =
      parent && startSpan({ ...stepOf(topic), attributes: attributesOf(topic, event, events.length) }, parent);
    if (span) spans.set(event, span);
  }
  return {
    contextOf(event) {
      const span = spans.get(event);
      return span ? traceContextOf(span.spanContext()) : storedContextOf(event);
    },
    end(error) {
      endSpans([...spans.values()], error);
      spans.clear();
    },
  };
}

function storedContextOf({ traceparent, tracestate }: PendingEvent): TraceContext {
  return { traceparent, tracestate };
}

function stepOf(topic: string) {
  return { name: `send ${topic}`, kind: spanKind.producer };
}

function attributesOf(topic: string, event: PendingEvent, batchSize: number) {
  return {
    [attribute.messagingSystem]: 'kafka',
    [attribute.messagingOperation]: 'send',
    [attribute.messagingOperationType]: 'send',
    [attribute.messagingDestination]: topic,
    [attribute.messagingPartition]: `${event.partition}`,
    [attribute.messagingKey]: event.recordKey,
    [attribute.batchSize]: batchSize,
    [attribute.requestId]: event.requestId,
    [attribute.workspaceId]: event.workspaceId,
    [attribute.environment]: event.environment,
    [attribute.eventId]: event.eventId,
    [attribute.eventType]: event.eventType,
  };
}
