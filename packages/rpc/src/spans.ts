import type { DescMethod, MessageInitShape } from '@bufbuild/protobuf';
import {
  attribute,
  endSpan,
  endSpans,
  inSpans,
  isTracing,
  outsideSpans,
  parseTraceContext,
  rpcAttributes,
  type Span,
  spanKind,
  startSpan,
  type TraceContext,
  traceContextOf,
} from '@rms/async/tracing';
import type { RmsError } from '@rms/base/errors';
import type { Status, StatusSchema } from '@rms/proto/google/rpc/status_pb';
import type { CallContext } from '@rms/proto/rms/common/v1/common_pb';
import { fromStatusMessage } from './errors.ts';

/** The tracing context of a batched request. */
interface Item {
  readonly context?: { readonly traceparent?: string; readonly tracestate?: string } | undefined;
}

/** The fields of a batched request's result that can contain an error. */
export interface ItemResult {
  readonly result?: { readonly case?: string | undefined; readonly value?: unknown } | undefined;
  readonly error?: MessageInitShape<typeof StatusSchema> | undefined;
}

/** Returns the error of a batched request; undefined if it succeeded. */
export function itemError({ result, error }: ItemResult): RmsError | undefined {
  const status = result?.case === 'error' ? result.value : error;
  return status ? fromStatusMessage(status as Status) : undefined;
}

/**
 * Makes one call for many requests. Each traced request gets a span for the call in its own trace, as a child of the
 * span in its context; the sent context contains the new span.
 */
export async function callForAll<Request extends Item, Result extends ItemResult>(
  method: DescMethod,
  requests: Request[],
  send: (requests: Request[]) => Promise<Result[]>,
): Promise<Result[]> {
  if (!isTracing()) return send(requests);
  const spans = clientSpansOf(`${method.parent.typeName}/${method.name}`, requests);
  const carried = requests.map((request, i) => withSpan(request, spans[i]));
  try {
    // The items carry the traces; the call itself has no trace.
    const results = await outsideSpans(() => send(carried));
    for (const [i, span] of spans.entries()) endSpan(span, results[i] && itemError(results[i]));
    return results;
  } catch (error) {
    endSpans(
      spans.flatMap((span) => span ?? []),
      error,
    );
    throw error;
  }
}

function clientSpansOf(name: string, requests: readonly Item[]): (Span | undefined)[] {
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

/** Runs `work` in a span in the caller's trace if the call's metadata has a traceparent. */
export function serveInTrace<T>(call: TraceContext & { readonly method: string }, work: () => Promise<T>): Promise<T> {
  return call.traceparent === '' || !isTracing() ? work() : inSpanOf(call.method, call, work);
}

async function inSpanOf<T>(method: string, context: TraceContext, work: () => Promise<T>): Promise<T> {
  const span = serverSpanOf(method, context);
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

function serverSpanOf(method: string, context: TraceContext): Span | undefined {
  const parent = parseTraceContext(context);
  return parent && startSpan({ name: method, kind: spanKind.server, attributes: rpcAttributes(method) }, parent);
}

/**
 * Serves one request of a batch in that request's own trace. Replaces the trace context in its context with that of
 * the new span.
 */
export async function serveItem<Request extends { context?: CallContext | undefined }, Result extends ItemResult>(
  method: string,
  request: Request,
  work: (request: Request) => Promise<Result>,
): Promise<Result> {
  const { context } = request;
  const span = context?.traceparent && isTracing() ? serverSpanOf(method, context) : undefined;
  if (!context || !span) return work(request);
  Object.assign(context, traceContextOf(span.spanContext()));
  try {
    const result = await inSpans([span], () => work(request));
    endSpan(span, itemError(result));
    return result;
  } catch (error) {
    endSpan(span, error);
    throw error;
  }
}
