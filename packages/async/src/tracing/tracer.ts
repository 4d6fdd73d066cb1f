import type { Attributes, Link, Span, SpanContext } from '@opentelemetry/api';

export type { Span } from '@opentelemetry/api';

/** OpenTelemetry's SpanKind by name. Its module is loaded only in traced processes. */
export const spanKind = { internal: 0, server: 1, client: 2, producer: 3, consumer: 4 } as const;

export type SpanKind = (typeof spanKind)[keyof typeof spanKind];

/** Initial data of a span. */
export interface SpanStart {
  readonly kind: SpanKind;
  /** Undefined: the span starts a trace. */
  readonly parent: SpanContext | undefined;
  readonly attributes: Attributes;
  readonly links: Link[];
  /** Milliseconds since 1970; undefined: now. */
  readonly startTime: number | undefined;
}

/** Creates spans. Installed only in traced processes. */
export interface Tracer {
  start(name: string, start: SpanStart): Span;
}

let installed: Tracer | undefined;

/** Returns the installed tracer. Without tracing it is undefined, so that each check costs one comparison. */
export function currentTracer(): Tracer | undefined {
  return installed;
}

/** Installs a tracer; undefined removes it. Must be called before pools and clients are created. */
export function installTracer(tracer: Tracer | undefined): void {
  installed = tracer;
}

/** Returns whether this process is traced. */
export function isTracing(): boolean {
  return installed !== undefined;
}
