import type { Request as Message } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { userOfActor } from '@rms/rpc';
import { presentTimeOf, rounded } from '../times.ts';
import type { Request } from './schema.ts';

/** Returns the API representation of a request. */
export function requestDocument(request: Message): Request {
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
    started_at: presentTimeOf(request.startTime),
    trace_id: request.traceId || null,
  };
}

/** Returns the endpoint's path, as in the OpenAPI document; null if the request matched none. */
export function routeOf({ route }: Message): string | null {
  return route === '' || route.includes('*') ? null : route.replaceAll(/:(\w+)/g, '{$1}');
}
