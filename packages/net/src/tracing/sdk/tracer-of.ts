import { type Tracer as OpenTelemetryTracer, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { Tracer } from '@rms/async/tracing';

/** Flag of W3C Trace Context, level 2: the trace ID is random. */
const randomFlag = 2;

/** Wraps a tracer of OpenTelemetry. Its spans keep the flag `random` of their trace, which the SDK does not. */
export function tracerOf(tracer: OpenTelemetryTracer): Tracer {
  return {
    start(name, { parent, startTime, ...options }) {
      const context = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT;
      const span = tracer.startSpan(name, startTime === undefined ? options : { ...options, startTime }, context);
      if (parent) span.spanContext().traceFlags |= parent.traceFlags & randomFlag;
      return span;
    },
  };
}
