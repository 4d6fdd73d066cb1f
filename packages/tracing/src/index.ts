export type { Attributes } from '@opentelemetry/api';
export { attribute, rpcAttributes } from './attributes.ts';
export { activeSpans, activeTraceparent, inSpans, outsideSpans } from './scope.ts';
export type { Tracing } from './sdk/sdk-options.ts';
export { endSpan, endSpans, failSpan, type Step, startSpan, startSpans } from './spans.ts';
export { type StartTracingOptions, startTracing } from './start-tracing.ts';
export { traced } from './traced.ts';
export { parseTraceparent, type RemoteParent, traceIdOf, traceparentOf } from './traceparent.ts';
export { installTracer, isTracing, type Span, spanKind, type Tracer } from './tracer.ts';
