import { answerText } from './attempts.ts';
import type { deliveryDocument } from './deliveries.ts';
import type { EventPassageDocument, RequestDocument } from './requests.ts';

/** Something that happened. */
export interface TimelineStep {
  /** ISO 8601. */
  readonly at: string;
  readonly what: string;
}

type DeliveryDocument = ReturnType<typeof deliveryDocument>;

export interface TimelineParts {
  readonly requests: readonly RequestDocument[];
  readonly events: readonly EventPassageDocument[];
  readonly deliveries: readonly DeliveryDocument[];
}

/** All that happened, in its order; what happened in one millisecond, in the order in which one follows from another. */
export function timelineOf({ requests, events, deliveries }: TimelineParts): TimelineStep[] {
  const begun = requests.flatMap(beginOf);
  const ended = requests.flatMap(endOf);
  const steps = [...begun, ...events.flatMap(createdOf), ...ended, ...events.flatMap(storedOf)];
  return [...steps, ...deliveries.flatMap(deliveryOf)].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function beginOf({ at, method, route, environment, key }: RequestDocument): TimelineStep[] {
  const who = key ? `with key ${key.hint ?? key.id}${key.name ? ` (${key.name})` : ''}` : 'without a valid key';
  return [{ at: at ?? '', what: `${method} ${route ?? '(no such address)'} in ${environment}, ${who}` }];
}

function endOf(request: RequestDocument): TimelineStep[] {
  const { status, error, replayed, duration_ms: durationMs } = request;
  const answer = status === null ? 'the client went away' : `answered ${status}${error ? ` ${error}` : ''}`;
  const steps = stepsOf(request);
  const split = steps.length > 0 ? ` (${steps.join(', ')})` : '';
  const at = new Date(Date.parse(request.at ?? '') + durationMs).toISOString();
  return [{ at, what: `${answer}${replayed ? ', replayed' : ''} after ${durationMs} ms${split}` }];
}

/** What each step took. */
function stepsOf({ authenticated_ms: key, limited_ms: limits, handled_ms: handled }: RequestDocument): string[] {
  const took = (from: number, to: number) => Math.round((to - from) * 100) / 100;
  return [
    ...(key === null ? [] : [`key ${key} ms`]),
    ...(key === null || limits === null ? [] : [`limits ${took(key, limits)} ms`]),
    ...(limits === null || handled === null ? [] : [`work ${took(limits, handled)} ms`]),
  ];
}

function createdOf({ id, type, resource_id: resourceId, created_at: at }: EventPassageDocument): TimelineStep[] {
  return [{ at: at ?? '', what: `${type} ${id} of ${resourceId} committed` }];
}

function storedOf(event: EventPassageDocument): TimelineStep[] {
  if (event.stored_at === null) return [];
  const { id, partition, offset, sequence } = event;
  return [
    { at: event.stored_at, what: `${id} read at partition ${partition}, offset ${offset}; sequence ${sequence}` },
  ];
}

function deliveryOf(delivery: DeliveryDocument): TimelineStep[] {
  const { id, event_id: eventId, event_type: type, webhook_id: webhookId, created_at: createdAt } = delivery;
  const skipped = delivery.status === 'skipped' ? ': skipped, the webhook was disabled' : '';
  const made: TimelineStep = { at: createdAt ?? '', what: `${type} ${eventId} → ${webhookId} (${id})${skipped}` };
  const attempts = delivery.attempts.map((attempt, i) => ({
    at: attempt.at ?? '',
    what: `attempt ${i + 1} of ${id}: ${answerText(attempt)} in ${attempt.duration_ms} ms`,
  }));
  return [made, ...attempts];
}
