import type { Request } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { userOfActor } from '@rms/rpc';
import { timeOf } from '../time-schemas.ts';

/** Returns the API representation of a request, before serialization. */
export function requestDocument(request: Request) {
  return {
    request_id: request.requestId,
    type: 'request',
    method: request.method,
    path: request.path || null,
    route: routeOf(request),
    status: request.status || null,
    error_code: request.errorCode || null,
    api_key_id: request.keyId || null,
    user_id: userOfActor(request.actor) ?? null,
    client_ip: request.clientAddress || null,
    duration_ms: rounded(request.durationMs),
    started_at: timeOf(request.startTime),
    trace_id: request.traceId || null,
  };
}

/** Returns the path of the endpoint, as in the OpenAPI document; null if the request matched none. */
export function routeOf({ route }: Request): string | null {
  return route === '' || route.includes('*') ? null : route.replaceAll(/:(\w+)/g, '{$1}');
}

/** Rounds milliseconds to hundredths. */
export function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
