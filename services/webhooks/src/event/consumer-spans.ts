import {
  attribute,
  isTracing,
  parseTraceContext,
  type Span,
  spanKind,
  startSpan,
  traceContextOf,
} from '@rms/async/tracing';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { Arrival } from './decode.ts';

/**
 * Starts a span per traced record, in the trace of its event's request, with a link to the span that
 * sent the record. The event's trace context is replaced by that of the new span, so that its deliveries become children
 * of it.
 */
export function startConsumerSpans(topic: string, group: string, arrivals: readonly Arrival[]): Span[] {
  if (!isTracing()) return [];
  return arrivals.flatMap(({ record, event }) => {
    const { traceparent = event.traceparent, tracestate = event.tracestate } = record.headers;
    const sender = parseTraceContext({ traceparent, tracestate });
    if (!sender) return [];
    const attributes = {
      ...messageAttributes(topic, group, record),
      [attribute.batchSize]: arrivals.length,
      [attribute.requestId]: event.requestId,
      [attribute.workspaceId]: event.workspaceId,
      [attribute.environment]: fromEnvironmentMessage(event.environment),
      [attribute.eventId]: event.id,
      [attribute.eventType]: event.type,
    };
    const step = { name: `process ${topic}`, kind: spanKind.consumer, attributes };
    const span = startSpan(step, sender, [{ context: sender }]);
    if (!span) return [];
    Object.assign(event, traceContextOf(span.spanContext()));
    return [span];
  });
}

function messageAttributes(topic: string, group: string, { partition, offset, key }: Arrival['record']) {
  return {
    [attribute.messagingSystem]: 'kafka',
    [attribute.messagingOperation]: 'process',
    [attribute.messagingOperationType]: 'process',
    [attribute.messagingDestination]: topic,
    [attribute.messagingGroup]: group,
    [attribute.messagingPartition]: `${partition}`,
    [attribute.messagingOffset]: Number(offset),
    [attribute.messagingKey]: key,
  };
}
