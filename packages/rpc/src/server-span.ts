import {
  endSpan,
  inSpans,
  isTracing,
  parseTraceparent,
  rpcAttributes,
  type Span,
  spanKind,
  startSpan,
  traceparentOf,
} from '@rms/tracing';
import type { CallContext } from './call-context.ts';

/** Runs `work` in a span of the caller's trace if the call's metadata has a traceparent. */
export function serveInTrace<T>(
  { method, traceparent }: { readonly method: string; readonly traceparent: string },
  work: () => Promise<T>,
): Promise<T> {
  return traceparent === '' || !isTracing() ? work() : inSpanOf(method, traceparent, work);
}

async function inSpanOf<T>(method: string, traceparent: string, work: () => Promise<T>): Promise<T> {
  const span = spanOf(method, traceparent);
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

function spanOf(method: string, traceparent: string): Span | undefined {
  const parent = parseTraceparent(traceparent);
  return parent && startSpan({ name: method, kind: spanKind.server, attributes: rpcAttributes(method) }, parent);
}

/**
 * Serves one request of a batch in that request's own trace. Replaces the traceparent in its context with the
 * traceparent of the new span.
 * @param errorOf extracts the error from a result
 */
export async function serveItem<Request extends { context?: CallContext | undefined }, Result>(
  method: string,
  request: Request,
  { work, errorOf }: { work: (request: Request) => Promise<Result>; errorOf: (result: Result) => unknown },
): Promise<Result> {
  const { context } = request;
  const span = context?.traceparent && isTracing() ? spanOf(method, context.traceparent) : undefined;
  if (!context || !span) return work(request);
  context.traceparent = traceparentOf(span.spanContext());
  try {
    const result = await inSpans([span], () => work(request));
    endSpan(span, errorOf(result));
    return result;
  } catch (error) {
    endSpan(span, error);
    throw error;
  }
}
