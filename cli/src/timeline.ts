import { responseText } from './attempts.ts';
import { actorText, changesText, type EntryDocument, targetText } from './audit.ts';
import type { deliveryDocument } from './deliveries.ts';
import type { EventProgressDocument, RequestDocument } from './requests.ts';

/** Entry of the timeline. */
export interface TimelineStep {
  /** ISO 8601. */
  readonly at: string;
  readonly what: string;
}

type DeliveryDocument = ReturnType<typeof deliveryDocument>;

export interface TimelineParts {
  readonly requests: readonly RequestDocument[];
  readonly events: readonly EventProgressDocument[];
  readonly deliveries: readonly DeliveryDocument[];
  readonly changes: readonly EntryDocument[];
}

/**
 * Returns all steps in order of time. Steps in the same millisecond stay in causal order, because the sort is stable.
 */
export function timelineOf({ requests, events, deliveries, changes }: TimelineParts): TimelineStep[] {
  const started = requests.flatMap(beginOf);
  const ended = requests.flatMap(endOf);
  const steps = [
    ...started,
    ...changes.map(changeOf),
    ...events.flatMap(createdOf),
    ...ended,
    ...events.flatMap(storedOf),
  ];
  return [...steps, ...deliveries.flatMap(deliveryOf)].sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

function beginOf({ at, method, route, environment, key, actor }: RequestDocument): TimelineStep[] {
  const who = actor ? `by ${actor}` : `with key ${key?.hint ?? key?.id ?? ''}${key?.name ? ` (${key.name})` : ''}`;
  return [{ at: at ?? '', what: `${method} ${route ?? '(no route)'} in ${environment}, ${who}` }];
}

function endOf(request: RequestDocument): TimelineStep[] {
  const { status, error, replayed, duration_ms: durationMs } = request;
  const response = status === null ? 'the client disconnected' : `responded ${status}${error ? ` ${error}` : ''}`;
  const steps = stepsOf(request);
  const split = steps.length > 0 ? ` (${steps.join(', ')})` : '';
  const at = new Date(Date.parse(request.at ?? '') + durationMs).toISOString();
  return [{ at, what: `${response}${replayed ? ', replayed' : ''} after ${durationMs} ms${split}` }];
}

/** Formats the duration of each step of a request. */
function stepsOf({ authenticated_ms: key, limited_ms: limits, handled_ms: handled }: RequestDocument): string[] {
  const took = (from: number, to: number) => Math.round((to - from) * 100) / 100;
  return [
    ...(key === null ? [] : [`key ${key} ms`]),
    ...(key === null || limits === null ? [] : [`limits ${took(key, limits)} ms`]),
    ...(limits === null || handled === null ? [] : [`work ${took(limits, handled)} ms`]),
  ];
}

function changeOf(entry: EntryDocument): TimelineStep {
  const changes = changesText(entry);
  const what = `${entry.action} ${targetText(entry)} by ${actorText(entry)}${changes === '' ? '' : `: ${changes}`}`;
  return { at: entry.at ?? '', what };
}

function createdOf(event: EventProgressDocument): TimelineStep[] {
  const { id, type, resource_id: resourceId, created_at: at, actor } = event;
  // Names only users, because the first step of the request already names the key.
  const who = actor?.startsWith('user:') ? ` by ${actor}` : '';
  return [{ at: at ?? '', what: `${type} ${id} of ${resourceId} committed${who}` }];
}

function storedOf(event: EventProgressDocument): TimelineStep[] {
  if (event.stored_at === null) return [];
  const { id, partition, offset, sequence } = event;
  return [
    { at: event.stored_at, what: `${id} consumed from partition ${partition}, offset ${offset}; sequence ${sequence}` },
  ];
}

function deliveryOf(delivery: DeliveryDocument): TimelineStep[] {
  const { id, event_id: eventId, event_type: type, webhook_id: webhookId, created_at: createdAt } = delivery;
  const skipped = delivery.status === 'skipped' ? ': skipped because the webhook was disabled' : '';
  const created: TimelineStep = { at: createdAt ?? '', what: `${type} ${eventId} → ${webhookId} (${id})${skipped}` };
  const attempts = delivery.attempts.map((attempt) => ({
    at: attempt.at ?? '',
    what: `attempt ${attempt.number} of ${id}: ${responseText(attempt)} in ${attempt.duration_ms} ms`,
  }));
  return [created, ...attempts];
}
