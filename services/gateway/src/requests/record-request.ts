import { traceIdOf } from '@rms/async/tracing';
import { type Environment, toEnvironmentMessage } from '@rms/base/tenant';
import { shownText, wallTimeOf } from '@rms/net/http';
import type { Request } from 'express';
import type { ApiResponse } from '../http/locals.ts';
import type { RequestLog, RequestRecord } from './request-log.ts';

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
