import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { Request } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Attempt, Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import type { EventProgress } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { userOfActor } from '@rms/rpc';
import { documentOf } from '../delivery/document.ts';
import { timeOf } from '../time-schemas.ts';
import { requestDocument, rounded, routeOf } from './document.ts';

/** Records with the same X-Request-ID. */
export interface TimelineParts {
  readonly requestId: string;
  readonly requests: readonly Request[];
  readonly events: readonly EventProgress[];
  /** With summaries of their attempts. */
  readonly deliveries: readonly Delivery[];
  readonly hasMoreDeliveries: boolean;
}

interface Step {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly text: string;
  readonly event_id: string | null;
  readonly delivery_id: string | null;
}

/** Returns the API representation of a timeline. */
export function timelineJson({ requestId, requests, events, deliveries, hasMoreDeliveries }: TimelineParts): string {
  const traceIds = new Set([...requests, ...events].map(({ traceId }) => traceId).filter((id) => id !== ''));
  const started = requests.map(beginOf);
  const stored = events.flatMap(storedOf);
  const steps = [...started, ...events.map(committedOf), ...requests.map(endOf), ...stored];
  return JSON.stringify({
    request_id: requestId,
    type: 'request_timeline',
    trace_ids: [...traceIds],
    requests: requests.map(fullRequestDocument),
    events: events.map(eventDocument),
    deliveries: deliveries.map((delivery) => ({
      ...documentOf(delivery),
      attempts: delivery.attempts.map(attemptSummary),
    })),
    has_more_deliveries: hasMoreDeliveries,
    // The sort is stable: steps of the same millisecond stay in causal order.
    steps: [...steps, ...inOrder(deliveries).flatMap(stepsOf)]
      .sort((a, b) => a.atMs - b.atMs)
      .map(({ atMs, ...step }) => ({ at: new Date(atMs).toISOString(), ...step })),
  });
}

function fullRequestDocument(request: Request) {
  const { replayed, authenticatedMs, limitedMs, handledMs } = request;
  const reached = (ms: number | undefined) => (ms === undefined ? null : rounded(ms));
  return {
    ...requestDocument(request),
    replayed,
    authenticated_ms: reached(authenticatedMs),
    limited_ms: reached(limitedMs),
    handled_ms: reached(handledMs),
  };
}

function eventDocument({ id, type, resourceId, position, createTime, storeTime, traceId }: EventProgress) {
  return {
    id,
    type,
    resource_id: resourceId,
    sequence: Number(position),
    created_at: timeOf(createTime),
    stored_at: timeOf(storeTime),
    trace_id: traceId || null,
  };
}

function attemptSummary({ number, startTime, statusCode, error, durationMs }: Attempt) {
  return {
    number,
    started_at: timeOf(startTime),
    status: statusCode || null,
    error: error || null,
    duration_ms: durationMs,
  };
}

/** Event IDs sort in causal order. Delivery IDs within a batch do not. */
function inOrder(deliveries: readonly Delivery[]): Delivery[] {
  return [...deliveries].sort((a, b) => (a.eventId + a.id < b.eventId + b.id ? -1 : 1));
}

function beginOf(request: Request): Step {
  const { startTime, method, keyId, keyHint, keyName, actor } = request;
  const key = `with key ${keyHint || keyId}${keyName ? ` (${keyName})` : ''}`;
  const who = userOfActor(actor) === undefined ? key : `by ${actor}`;
  return step(msOf(startTime), `${method} ${routeOf(request) ?? '(no route)'} ${who}`);
}

function endOf({ startTime, status, errorCode, replayed, durationMs }: Request): Step {
  const outcome = status === 0 ? 'the client disconnected' : `responded ${status}${errorCode ? ` ${errorCode}` : ''}`;
  const text = `${outcome}${replayed ? ', replayed' : ''} after ${rounded(durationMs)} ms`;
  return step(msOf(startTime) + durationMs, text);
}

function committedOf({ id, type, resourceId, createTime, actor }: EventProgress): Step {
  // Names only users, because the first step of the request already names the key.
  const who = userOfActor(actor) === undefined ? '' : ` by ${actor}`;
  return step(msOf(createTime), `${type} of ${resourceId} committed${who}`, { event_id: id });
}

function storedOf({ id, storeTime, position }: EventProgress): Step[] {
  if (!storeTime) return [];
  return [step(msOf(storeTime), `stored in the feed with sequence ${position}`, { event_id: id })];
}

function stepsOf({ id, eventId, eventType, webhookId, createTime, attempts }: Delivery): Step[] {
  const of = { event_id: eventId, delivery_id: id };
  return [
    step(msOf(createTime), `${eventType} for ${webhookId}`, of),
    ...attempts.map(({ number, startTime, statusCode, error, durationMs }) =>
      step(msOf(startTime), `attempt ${number}: ${error || statusCode} in ${durationMs} ms`, of),
    ),
  ];
}

function step(atMs: number, text: string, of: Partial<Pick<Step, 'event_id' | 'delivery_id'>> = {}): Step {
  return { atMs, text, event_id: null, delivery_id: null, ...of };
}

function msOf(time: Timestamp | undefined): number {
  return time ? timestampMs(time) : 0;
}
