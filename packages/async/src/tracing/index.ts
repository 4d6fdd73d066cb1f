export type { Attributes } from '@opentelemetry/api';
export { attribute, rpcAttributes } from './attributes.ts';
export { activeSpans, activeTraceContext, inSpans, outsideSpans } from './scope.ts';
export { endSpan, endSpans, failSpan, type Step, startSpan, startSpans, traced } from './spans.ts';
export {
  parseTraceContext,
  type RemoteParent,
  type TraceContext,
  traceContextOf,
  traceIdOf,
  untraced,
} from './trace-context.ts';
export { installTracer, isTracing, type Span, spanKind, type Tracer } from './tracer.ts';
