import {
  attribute,
  failSpan,
  isTracing,
  parseTraceContext,
  type RemoteParent,
  type Span,
  spanKind,
  startSpan,
  traceContextOf,
} from '@rms/async/tracing';
import type { Environment } from '@rms/base/tenant';
import type { Request } from 'express';
import type { ApiResponse } from './locals.ts';

export interface RequestSpanOptions {
  readonly environment: Environment;
  readonly trustTraceparent: boolean;
}

/**
 * Starts the span of an API request, which ends with the response. With `trustTraceparent`, the client's trace
 * continues, even if this service does not trace. Otherwise it becomes a span link. The span omits path and query
 * because they may contain anything.
 */
export function traceRequest(request: Request, response: ApiResponse, options: RequestSpanOptions): void {
  const tracing = isTracing();
  if (!tracing && !options.trustTraceparent) return;
  if (!request.url?.startsWith('/v1')) return;
  const client = parseTraceContext({
    traceparent: headerOf(request, 'traceparent'),
    tracestate: headerOf(request, 'tracestate'),
  });
  if (client && options.trustTraceparent) response.locals.trace = traceContextOf(client);
  if (!tracing) return;
  const span = begin(request, response, client, options);
  if (!span) return;
  response.locals.span = span;
  response.locals.trace = traceContextOf(span.spanContext());
  response.once('close', () => end(span, request, response));
}

function headerOf({ headers }: Request, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
}

function begin(
  request: Request,
  { locals }: ApiResponse,
  client: RemoteParent | undefined,
  { environment, trustTraceparent }: RequestSpanOptions,
): Span | undefined {
  const { method } = request;
  const attributes = {
    [attribute.httpMethod]: method,
    [attribute.urlScheme]: locals.client().usesHttps ? 'https' : 'http',
    [attribute.requestId]: locals.requestId,
    [attribute.environment]: environment,
  };
  const parent = trustTraceparent ? client : undefined;
  const links = client && !parent ? [{ context: client }] : [];
  return startSpan({ name: method, kind: spanKind.server, attributes }, parent, links);
}

function end(span: Span, request: Request, response: ApiResponse): void {
  const { workspaceId, keyId } = response.locals;
  const route: string | undefined = request.route?.path;
  if (route) {
    span.updateName(`${request.method} ${route}`);
    span.setAttribute(attribute.httpRoute, route);
  }
  if (workspaceId) span.setAttribute(attribute.workspaceId, workspaceId);
  if (keyId) span.setAttribute(attribute.keyId, keyId);
  if (response.writableFinished) {
    span.setAttribute(attribute.httpStatus, response.statusCode);
    if (response.statusCode >= 500) failSpan(span, `${response.statusCode}`);
  } else {
    span.setAttribute(attribute.errorType, 'client_closed_request');
  }
  span.end();
}
