import {
  endSpan,
  inSpans,
  isTracing,
  parseTraceContext,
  rpcAttributes,
  type Span,
  spanKind,
  startSpan,
  type TraceContext,
  traceContextOf,
} from '@rms/async/tracing';
import type { CallContext } from './call-context.ts';

/** Runs `work` in a span in the caller's trace if the call's metadata has a traceparent. */
export function serveInTrace<T>(call: TraceContext & { readonly method: string }, work: () => Promise<T>): Promise<T> {
  return call.traceparent === '' || !isTracing() ? work() : inSpanOf(call.method, call, work);
}

async function inSpanOf<T>(method: string, context: TraceContext, work: () => Promise<T>): Promise<T> {
  const span = spanOf(method, context);
  if (!span) return work();
  try {
    const result = await inSpans([span], work);
    endSpan(span);
    return result;
  } catch (error) {
    endSpan(span, error);
    throw error;
  }
}

function spanOf(method: string, context: TraceContext): Span | undefined {
  const parent = parseTraceContext(context);
  return parent && startSpan({ name: method, kind: spanKind.server, attributes: rpcAttributes(method) }, parent);
}

/**
 * Serves one request of a batch in that request's own trace. Replaces the trace context in its context with that of
 * the new span.
 * @param errorOf extracts the error from a result
 */
export async function serveItem<Request extends { context?: CallContext | undefined }, Result>(
  method: string,
  request: Request,
  { work, errorOf }: { work: (request: Request) => Promise<Result>; errorOf: (result: Result) => unknown },
): Promise<Result> {
  const { context } = request;
  const span = context?.traceparent && isTracing() ? spanOf(method, context) : undefined;
  if (!context || !span) return work(request);
  Object.assign(context, traceContextOf(span.spanContext()));
  try {
    const result = await inSpans([span], () => work(request));
    endSpan(span, errorOf(result));
    return result;
  } catch (error) {
    endSpan(span, error);
    throw error;
  }
}
