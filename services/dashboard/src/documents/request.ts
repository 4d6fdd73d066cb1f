import { timestampMs } from '@bufbuild/protobuf/wkt';
import type { Request } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import type { EventPassage } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { timeOf } from './text.ts';

/** Something that happened because of a request. */
export interface StepDocument {
  readonly at: string;
  readonly what: string;
  readonly tone: 'good' | 'bad' | 'plain';
  /** The delivery that it is a part of. */
  readonly delivery_id: string | null;
}

/** All that is known of one X-Request-ID. */
export interface RequestDocument {
  readonly steps: readonly StepDocument[];
  readonly traces: readonly { readonly id: string; readonly url: string | null }[];
}

export function beginningOf(request: Request): StepDocument {
  const { method, route, keyHint, keyName } = request;
  const who = keyName ? `with the key ${keyHint} (${keyName})` : 'with a key';
  return step(timeOf(request.startTime), `${method} ${route || '(no such address)'}, ${who}`);
}

export function answerOf(request: Request): StepDocument {
  const { status, errorCode, replayed, durationMs, startTime } = request;
  const answer = status === 0 ? 'the client went away' : `answered ${status}${errorCode ? ` ${errorCode}` : ''}`;
  const at = startTime ? new Date(timestampMs(startTime) + durationMs).toISOString() : null;
  const text = `${answer}${replayed ? ', replayed' : ''} after ${round(durationMs)} ms${splitOf(request)}`;
  return step(at, text, status >= 200 && status < 400 ? 'good' : 'bad');
}

/** What each step of the gateway took. */
function splitOf({ authenticatedMs: key, limitedMs: limits, handledMs: handled }: Request): string {
  const parts = [
    ...(key === undefined ? [] : [`key ${round(key)} ms`]),
    ...(key === undefined || limits === undefined ? [] : [`limits ${round(limits - key)} ms`]),
    ...(limits === undefined || handled === undefined ? [] : [`work ${round(handled - limits)} ms`]),
  ];
  return parts.length > 0 ? ` (${parts.join(', ')})` : '';
}

export function passageOf({ id, type, resourceId, createTime, storeTime, position }: EventPassage): StepDocument[] {
  const committed = step(timeOf(createTime), `${type} ${id} of ${resourceId} committed`);
  return storeTime ? [committed, step(timeOf(storeTime), `${id} is number ${position} of the feed`)] : [committed];
}

export function deliveryStepsOf({ id, eventType, webhookId, createTime, attempts }: Delivery): StepDocument[] {
  const made = { ...step(timeOf(createTime), `${eventType} for ${webhookId}`), delivery_id: id };
  const tried = attempts.map((attempt, index) => {
    const { statusCode, error, durationMs } = attempt;
    const isGood = statusCode === 200 && error === '';
    const text = `attempt ${index + 1} to ${webhookId}: ${statusCode || error} in ${durationMs} ms`;
    return { ...step(timeOf(attempt.startTime), text, isGood ? 'good' : 'bad'), delivery_id: id };
  });
  return [made, ...tried];
}

function step(at: string | null, what: string, tone: StepDocument['tone'] = 'plain'): StepDocument {
  return { at: at ?? '', what, tone, delivery_id: null };
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
