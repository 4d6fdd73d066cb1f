import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Request } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { EventPassage } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { environmentName, time } from './documents.ts';

export type RequestDocument = ReturnType<typeof requestDocument>;
export type EventPassageDocument = ReturnType<typeof eventPassageDocument>;

/** A request as `rms trace` prints it; times in milliseconds. */
export function requestDocument(request: Request) {
  const { authenticatedMs, limitedMs, handledMs, durationMs } = request;
  return {
    environment: environmentName(request.environment),
    at: time(request.startTime),
    method: request.method,
    route: request.route || null,
    /** Null: the client went away before it was answered. */
    status: request.status || null,
    error: request.errorCode || null,
    replayed: request.replayed,
    key: request.keyId ? { id: request.keyId, hint: request.keyHint || null, name: request.keyName || null } : null,
    trace_id: request.traceId || null,
    duration_ms: rounded(durationMs),
    // Since its start; null: it did not come so far.
    authenticated_ms: rounded(authenticatedMs),
    limited_ms: rounded(limitedMs),
    handled_ms: rounded(handledMs),
    workspace: request.workspaceId || null,
  };
}

/** An event and how it has come, as `rms trace` prints it. */
export function eventPassageDocument(event: EventPassage) {
  const { busPartition, busOffset, createTime, storeTime } = event;
  return {
    id: event.id,
    type: event.type,
    environment: environmentName(event.environment),
    resource_id: event.resourceId,
    sequence: Number(event.position),
    created_at: time(createTime),
    stored_at: time(storeTime),
    // From its creation to its place in the feed.
    passage_ms: createTime && storeTime ? timestampMs(storeTime) - timestampMs(createTime) : null,
    partition: busPartition ?? null,
    offset: busOffset === undefined ? null : String(busOffset),
    trace_id: event.traceId || null,
  };
}

function rounded(ms: number): number;
function rounded(ms: number | undefined): number | null;
function rounded(ms: number | undefined): number | null {
  return ms === undefined ? null : Math.round(ms * 100) / 100;
}
