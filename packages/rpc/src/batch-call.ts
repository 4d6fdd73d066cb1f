import type { DescMethod } from '@bufbuild/protobuf';
import {
  attribute,
  endSpan,
  endSpans,
  isTracing,
  outsideSpans,
  parseTraceContext,
  rpcAttributes,
  type Span,
  spanKind,
  startSpan,
  traceContextOf,
} from '@rms/async/tracing';

/** The tracing context of a batched request. */
interface Item {
  readonly context?: { readonly traceparent?: string; readonly tracestate?: string } | undefined;
}

/**
 * Makes one call for many requests. Each traced request gets a span for the call in its own trace, as a child of the
 * span in its context; the sent context contains the new span.
 * @param errorOf extracts the error from a result
 */
export async function callForAll<Request extends Item, Result>(
  method: DescMethod,
  requests: Request[],
  send: (requests: Request[]) => Promise<Result[]>,
  errorOf: (result: NoInfer<Result>) => unknown,
): Promise<Result[]> {
  if (!isTracing()) return send(requests);
  const spans = spansOf(`${method.parent.typeName}/${method.name}`, requests);
  const carried = requests.map((request, i) => withSpan(request, spans[i]));
  try {
    // The items carry the traces; the call itself has no trace.
    const results = await outsideSpans(() => send(carried));
    for (const [i, span] of spans.entries()) endSpan(span, results[i] && errorOf(results[i]));
    return results;
  } catch (error) {
    endSpans(
      spans.flatMap((span) => span ?? []),
      error,
    );
    throw error;
  }
}

function spansOf(name: string, requests: readonly Item[]): (Span | undefined)[] {
  const shared = requests.length > 1 ? { [attribute.batchSize]: requests.length } : {};
  const step = { name, kind: spanKind.client, attributes: { ...rpcAttributes(name), ...shared } };
  let first: Span | undefined;
  return requests.map(({ context }) => {
    const parent = parseTraceContext(context ?? {});
    if (!parent) return undefined;
    // The parent span belongs to this process.
    const links = first ? [{ context: first.spanContext() }] : [];
    const span = startSpan(step, { ...parent, isRemote: false }, links);
    first ??= span;
    return span;
  });
}

function withSpan<Request extends Item>(request: Request, span: Span | undefined): Request {
  if (!span) return request;
  return { ...request, context: { ...request.context, ...traceContextOf(span.spanContext()) } };
}
