import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { AuditEntry } from '@rms/proto/rms/auth/v1/audit_service_pb';
import type { Request } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import type { EventProgress } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { userOfActor } from '@rms/rpc';
import { timeOf } from './text.ts';

/** Step on the timeline of a request. */
export interface StepDocument {
  readonly at: string;
  readonly what: string;
  readonly tone: 'good' | 'bad' | 'plain';
  /** Delivery that the step belongs to. */
  readonly delivery_id: string | null;
}

/** Timeline of an X-Request-ID. */
export interface RequestDocument {
  readonly steps: readonly StepDocument[];
  /** Requests of the environment within the retention that were only counted. */
  readonly left_out: number;
  readonly traces: readonly { readonly id: string; readonly url: string | null }[];
}

/** Returns the display name of an actor ("user:usr_…"). */
export type NameOf = (actor: string) => string;

export function beginningOf(request: Request, nameOf: NameOf): StepDocument {
  const { method, route, keyHint, keyName, actor } = request;
  const withKey = keyName ? `with key ${keyHint} (${keyName})` : 'with a key';
  const who = actor === '' ? withKey : `by ${nameOf(actor)}`;
  return step(timeOf(request.startTime), `${method} ${route || '(no route)'}, ${who}`);
}

export function responseOf(request: Request): StepDocument {
  const { status, errorCode, replayed, durationMs, startTime } = request;
  const response = status === 0 ? 'the client disconnected' : `responded ${status}${errorCode ? ` ${errorCode}` : ''}`;
  const at = startTime ? new Date(timestampMs(startTime) + durationMs).toISOString() : null;
  const text = `${response}${replayed ? ', replayed' : ''} after ${round(durationMs)} ms${splitOf(request)}`;
  return step(at, text, status >= 200 && status < 400 ? 'good' : 'bad');
}

/** Formats the duration of each step in the gateway. */
function splitOf({ authenticatedMs: key, limitedMs: limits, handledMs: handled }: Request): string {
  const parts = [
    ...(key === undefined ? [] : [`key ${round(key)} ms`]),
    ...(key === undefined || limits === undefined ? [] : [`limits ${round(limits - key)} ms`]),
    ...(limits === undefined || handled === undefined ? [] : [`work ${round(handled - limits)} ms`]),
  ];
  return parts.length > 0 ? ` (${parts.join(', ')})` : '';
}

export function stepsOfEvent(event: EventProgress, nameOf: NameOf): StepDocument[] {
  const { id, type, resourceId, createTime, storeTime, position, actor } = event;
  // The step of the request already names an API key.
  const who = userOfActor(actor) === undefined ? '' : ` by ${nameOf(actor)}`;
  const committed = step(timeOf(createTime), `${type} ${id} of ${resourceId} committed${who}`);
  return storeTime
    ? [committed, step(timeOf(storeTime), `${id} stored in the feed with sequence ${position}`)]
    : [committed];
}

export function deliveryStepsOf({ id, eventType, webhookId, createTime, attempts }: Delivery): StepDocument[] {
  const created = { ...step(timeOf(createTime), `${eventType} for ${webhookId}`), delivery_id: id };
  const tried = attempts.map((attempt) => {
    const { number, statusCode, error, durationMs } = attempt;
    const isGood = statusCode === 200 && error === '';
    const text = `attempt ${number} to ${webhookId}: ${error.replace('status: ', '') || statusCode} in ${durationMs} ms`;
    return { ...step(timeOf(attempt.startTime), text, isGood ? 'good' : 'bad'), delivery_id: id };
  });
  return [created, ...tried];
}

/** Returns the step of a redelivery in the audit log. */
export function redeliveryOf({ time, targetId, actor }: AuditEntry, nameOf: NameOf): StepDocument {
  return { ...step(timeOf(time), `${targetId} redelivered by ${nameOf(actor)}`), delivery_id: targetId };
}

function step(at: string | null, what: string, tone: StepDocument['tone'] = 'plain'): StepDocument {
  return { at: at ?? '', what, tone, delivery_id: null };
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
