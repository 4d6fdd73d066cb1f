import type { KeyEnvironment } from '@rms/api-key';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { traceIdOf } from '@rms/tracing';
import type { Request } from 'express';
import type { ApiResponse } from '../http/locals.ts';
import type { RequestLog, RequestRecord } from './request-log.ts';

/** Notes a request of the API once its answer has been handed to the system or its client has gone. */
export function noteRequest(
  request: Request,
  response: ApiResponse,
  { environment, requests }: { environment: KeyEnvironment; requests: RequestLog },
): void {
  if (!requests.isKept || !request.url?.startsWith('/v1')) return;
  response.once('close', () => {
    const status = response.writableFinished ? response.statusCode : 0;
    if (requests.wants(request.method, status)) requests.note(toRecord(request, response, environment, status));
  });
}

function toRecord(request: Request, response: ApiResponse, environment: KeyEnvironment, status: number): RequestRecord {
  const { requestId, traceparent, workspaceId, keyId, errorCode, startedAtMs, steps } = response.locals;
  const since = (atMs: number | undefined) => (atMs === undefined ? -1 : atMs - startedAtMs);
  return {
    workspaceId: workspaceId ?? '',
    environment: environment === 'live' ? Environment.LIVE : Environment.SANDBOX,
    requestId,
    // To the microsecond, so that two requests with one id differ.
    startTimeUs: Math.floor((performance.timeOrigin + startedAtMs) * 1_000),
    traceId: traceparent ? traceIdOf(traceparent) : '',
    method: request.method,
    // The pattern, not the path: paths of those who guess may hold anything.
    route: request.route?.path ?? '',
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
