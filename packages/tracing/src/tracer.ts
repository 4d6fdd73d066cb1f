import type { Attributes, Link, Span, SpanContext } from '@opentelemetry/api';

export type { Span } from '@opentelemetry/api';

/** OpenTelemetry's SpanKind, by name: its module is loaded only where something is traced. */
export const spanKind = { internal: 0, server: 1, client: 2, producer: 3, consumer: 4 } as const;

export type SpanKind = (typeof spanKind)[keyof typeof spanKind];

/** What a span begins with. */
export interface SpanStart {
  readonly kind: SpanKind;
  /** Undefined: it begins a trace. */
  readonly parent: SpanContext | undefined;
  readonly attributes: Attributes;
  readonly links: Link[];
  /** Milliseconds since 1970; undefined: now. */
  readonly startTime: number | undefined;
}

/** Makes spans. There is one in a process that is traced, and none in others. */
export interface Tracer {
  start(name: string, start: SpanStart): Span;
}

let installed: Tracer | undefined;

/** Undefined: nothing is traced, and each look at a trace costs one comparison. */
export function currentTracer(): Tracer | undefined {
  return installed;
}

/** To be called before pools and clients are made; undefined ends it. */
export function installTracer(tracer: Tracer | undefined): void {
  installed = tracer;
}

/** Whether this process is traced. */
export function isTracing(): boolean {
  return installed !== undefined;
}
