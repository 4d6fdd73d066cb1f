import type { ExportTraceServiceRequest } from '@rms/proto/opentelemetry/proto/collector/trace/v1/trace_service_pb';
import type { KeyValue } from '@rms/proto/opentelemetry/proto/common/v1/common_pb';
import { type Span, Span_SpanKind } from '@rms/proto/opentelemetry/proto/trace/v1/trace_pb';

/** A span as received by the collector; IDs are in hexadecimal. */
export interface ReceivedSpan {
  /** `service.name` of the sending process. */
  readonly service: string;
  readonly resource: Readonly<Record<string, AttributeValue>>;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for the root span of a trace. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: 'UNSPECIFIED' | 'INTERNAL' | 'SERVER' | 'CLIENT' | 'PRODUCER' | 'CONSUMER';
  /** Milliseconds since 1970. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Readonly<Record<string, AttributeValue>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** OTLP status code: 2 is an error. */
  readonly statusCode: number;
  readonly statusMessage: string;
}

/** Value of an attribute. This project sends no lists. */
export type AttributeValue = string | number | boolean;

/** Returns all spans of an OTLP request. */
export function receivedSpans({ resourceSpans }: ExportTraceServiceRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const about = attributesOf(resource?.attributes ?? []);
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => toReceivedSpan(span, about)));
  });
}

function toReceivedSpan(span: Span, resource: ReceivedSpan['resource']): ReceivedSpan {
  return {
    service: String(resource['service.name'] ?? ''),
    resource,
    traceId: hex(span.traceId),
    spanId: hex(span.spanId),
    parentSpanId: hex(span.parentSpanId),
    name: span.name,
    kind: (Span_SpanKind[span.kind] ?? 'UNSPECIFIED') as ReceivedSpan['kind'],
    startMs: Number(span.startTimeUnixNano) / 1e6,
    endMs: Number(span.endTimeUnixNano) / 1e6,
    attributes: attributesOf(span.attributes),
    links: span.links.map(({ traceId, spanId }) => ({ traceId: hex(traceId), spanId: hex(spanId) })),
    statusCode: span.status?.code ?? 0,
    statusMessage: span.status?.message ?? '',
  };
}

function attributesOf(pairs: readonly KeyValue[]): Record<string, AttributeValue> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, readValue(value)]));
}

function readValue(given: KeyValue['value']): AttributeValue {
  const value = given?.value;
  if (value?.case === 'intValue') return Number(value.value);
  if (value?.case === 'stringValue' || value?.case === 'doubleValue' || value?.case === 'boolValue') return value.value;
  return `[${value?.case ?? 'nothing'}]`;
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}
