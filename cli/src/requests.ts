import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Request } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { EventProgress } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { fromEnvironmentMessage } from '@rms/tenant';
import { time } from './documents.ts';

export type RequestDocument = ReturnType<typeof requestDocument>;
export type EventProgressDocument = ReturnType<typeof eventProgressDocument>;

/** Returns a request for the output of `rms trace`. */
export function requestDocument(request: Request) {
  const { authenticatedMs, limitedMs, handledMs, durationMs } = request;
  return {
    environment: fromEnvironmentMessage(request.environment),
    at: time(request.startTime),
    method: request.method,
    route: request.route || null,
    /** Null if the client disconnected before the response. */
    status: request.status || null,
    error: request.errorCode || null,
    replayed: request.replayed,
    key: request.keyId ? { id: request.keyId, hint: request.keyHint || null, name: request.keyName || null } : null,
    /** User who made the request in the dashboard. Null for a request with a key. */
    actor: request.actor || null,
    trace_id: request.traceId || null,
    duration_ms: rounded(durationMs),
    // Milliseconds since the start of the request. Null if the request did not reach the step.
    authenticated_ms: rounded(authenticatedMs),
    limited_ms: rounded(limitedMs),
    handled_ms: rounded(handledMs),
    workspace: request.workspaceId || null,
  };
}

/** Returns an event with its path through the system, for the output of `rms trace`. */
export function eventProgressDocument(event: EventProgress) {
  const { busPartition, busOffset, createTime, storeTime } = event;
  return {
    id: event.id,
    type: event.type,
    environment: fromEnvironmentMessage(event.environment),
    resource_id: event.resourceId,
    sequence: Number(event.position),
    created_at: time(createTime),
    stored_at: time(storeTime),
    // From the commit of the event to its storage in the feed.
    passage_ms: createTime && storeTime ? timestampMs(storeTime) - timestampMs(createTime) : null,
    partition: busPartition ?? null,
    offset: busOffset === undefined ? null : String(busOffset),
    trace_id: event.traceId || null,
    actor: event.actor || null,
  };
}

function rounded(ms: number): number;
function rounded(ms: number | undefined): number | null;
function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms * 100) / 100;
}
