import type { KeyEnvironment } from '@rms/api-key';
import { type CidrList, cameByHttps } from '@rms/http';
import {
  attribute,
  failSpan,
  isTracing,
  parseTraceparent,
  type RemoteParent,
  type Span,
  spanKind,
  startSpan,
  traceparentOf,
} from '@rms/tracing';
import type { Request } from 'express';
import type { ApiResponse } from './locals.ts';

export interface RequestSpanOptions {
  readonly environment: KeyEnvironment;
  readonly trustTraceparent: boolean;
  readonly trustedProxies: CidrList;
}

/**
 * Begins to trace a request of the API; it ends with its answer. A client's own trace is linked to unless it is trusted,
 * and then continued, also where nothing is traced here. Its path and query are not told: they may hold anything.
 */
export function traceRequest(request: Request, response: ApiResponse, options: RequestSpanOptions): void {
  const tracing = isTracing();
  if (!tracing && !options.trustTraceparent) return;
  if (!request.url?.startsWith('/v1')) return;
  const sent = request.headers.traceparent;
  const client = parseTraceparent(typeof sent === 'string' ? sent : undefined);
  if (client && options.trustTraceparent) response.locals.traceparent = traceparentOf(client);
  if (!tracing) return;
  const span = begin(request, response, client, options);
  if (!span) return;
  response.locals.span = span;
  response.locals.traceparent = traceparentOf(span.spanContext());
  response.once('close', () => end(span, request, response));
}

function begin(
  request: Request,
  { locals }: ApiResponse,
  client: RemoteParent | undefined,
  { environment, trustTraceparent, trustedProxies }: RequestSpanOptions,
): Span | undefined {
  const { method } = request;
  const attributes = {
    [attribute.httpMethod]: method,
    [attribute.urlScheme]: cameByHttps(request, trustedProxies) ? 'https' : 'http',
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
