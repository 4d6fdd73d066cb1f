import {
  attribute,
  failSpan,
  isTracing,
  parseTraceContext,
  type RemoteParent,
  type Span,
  spanKind,
  startSpan,
  type TraceContext,
  traceContextOf,
  traceIdOf,
  untraced,
} from '@rms/async/tracing';
import { type Environment, toEnvironmentMessage } from '@rms/base/tenant';
import type { LimitDecision } from '@rms/limits';
import { type AppResponse, type RequestLocals, shownText, wallTimeOf } from '@rms/net/http';
import type { Logger } from '@rms/runtime/logging';
import type { Request } from 'express';
import type { RequestLog, RequestRecord } from '../requests/request-log.ts';

/** State of a request while it is served. */
export type Locals = RequestLocals & {
  /** Trace context that the RPCs of this request propagate. */
  trace: TraceContext;
  /** Set after authentication, like `keyId`. */
  workspaceId: string | undefined;
  keyId: string | undefined;
  /** Result of the limit check. undefined if the check did not run. */
  limitOutcome: LimitDecision['outcome'] | undefined;
  /** Public error code of the response, if it is an error. */
  errorCode: string | undefined;
  /** End of each step (performance.now()). undefined if it is not over. */
  readonly steps: { authenticatedAtMs?: number; limitedAtMs?: number; handledAtMs?: number };
};

export type ApiResponse = AppResponse<Locals>;

/** Returns a new request's state. */
export function newLocals(): Omit<Locals, keyof RequestLocals> {
  return {
    trace: untraced,
    workspaceId: undefined,
    keyId: undefined,
    limitOutcome: undefined,
    errorCode: undefined,
    steps: {},
  };
}

interface RequestSpanOptions {
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

const maxPathLength = 200;

/**
 * Records an API request when its response has been passed to the operating system or its client has disconnected.
 * Requests without a valid key belong to no workspace: rms_authentications_refused_total counts them.
 */
export function recordRequest(
  request: Request,
  response: ApiResponse,
  { environment, requests }: { environment: Environment; requests: RequestLog },
): void {
  if (!requests.isKept || !request.url?.startsWith('/v1')) return;
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : 0;
    const { workspaceId } = response.locals;
    if (workspaceId === undefined || !requests.wants(request.method, status)) return;
    requests.note(toRecord(request, response, { workspaceId, environment, status }));
  });
}

function toRecord(
  request: Request,
  response: ApiResponse,
  { workspaceId, environment, status }: { workspaceId: string; environment: Environment; status: number },
): RequestRecord {
  const { requestId, trace, keyId, errorCode, startedAtMs, steps } = response.locals;
  const since = (atMs: number | undefined) => (atMs === undefined ? -1 : atMs - startedAtMs);
  return {
    workspaceId,
    environment: toEnvironmentMessage(environment),
    requestId,
    // In microseconds, so that two requests with the same ID differ.
    startTimeUs: Math.floor(wallTimeOf(startedAtMs) * 1_000),
    traceId: trace.traceparent ? traceIdOf(trace.traceparent) : '',
    method: request.method,
    route: request.route?.path ?? '',
    path: pathOf(request),
    clientAddress: response.locals.client().address,
    status,
    errorCode: errorCode ?? '',
    keyId: keyId ?? '',
    replayed: response.hasHeader('Idempotency-Replayed'),
    authenticatedMs: since(steps.authenticatedAtMs),
    limitedMs: since(steps.limitedAtMs),
    handledMs: since(steps.handledAtMs),
    durationMs: performance.now() - startedAtMs,
  };
}

/** Returns the path without the query; empty for an unknown route, because such a path may contain anything. */
function pathOf({ originalUrl, route }: Request): string {
  const isKnown = route !== undefined && !route.path.includes('*');
  return isKnown ? shownText(originalUrl.split('?', 1)[0] ?? '', maxPathLength) : '';
}

/**
 * Logs one line per request, when the response has been passed to the operating system or the client has disconnected.
 */
export function logAccess(request: Request, response: ApiResponse, log: Logger): void {
  if (!log.isLevelEnabled('info')) return;
  response.once('close', () => {
    const { requestId, trace, keyId, startedAtMs } = response.locals;
    log.info(
      {
        request_id: requestId,
        ...(trace.traceparent ? { trace_id: traceIdOf(trace.traceparent) } : {}),
        method: request.method,
        // The route pattern, not the path, because paths of unknown routes may contain anything.
        route: request.route?.path,
        status: response.statusCode,
        duration_ms: Math.round((performance.now() - startedAtMs) * 100) / 100,
        key_id: keyId,
        ...(response.writableFinished ? {} : { aborted: true }),
      },
      'request',
    );
  });
}
