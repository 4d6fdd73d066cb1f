import type { FeedEvent } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { listEnd, listStart } from '../list.ts';
import type { Event } from './schema.ts';

type StoredEvent = Pick<FeedEvent, 'id' | 'type' | 'position' | 'body'>;

const openingBrace = 0x7b;
const closingBrace = 0x7d;

/**
 * Returns an event as JSON: the bytes that webhooks receive, with `sequence` inserted before the closing brace. An
 * erased event has `data: null`.
 */
export function eventJson(event: StoredEvent): string {
  return Buffer.concat(partsOf(event)).toString('utf8');
}

/** Returns an event as an object. */
export function eventDocument(event: StoredEvent): Event {
  return JSON.parse(eventJson(event)) as Event;
}

/** Returns the list envelope around events, in UTF-8. Nothing is parsed or serialized again. */
export function eventListJson(events: readonly FeedEvent[], ...end: Parameters<typeof listEnd>): Uint8Array {
  const comma = Buffer.from(',');
  const items = events.flatMap((event, i) => (i > 0 ? [comma, ...partsOf(event)] : partsOf(event)));
  return Buffer.concat([Buffer.from(listStart), ...items, Buffer.from(listEnd(...end))]);
}

function partsOf({ id, type, position, body }: StoredEvent): Uint8Array[] {
  const end = Buffer.from(`,"sequence":${position}}`);
  if (body.length === 0) {
    return [Buffer.from(`{"id":${JSON.stringify(id)},"type":${JSON.stringify(type)},"data":null`), end];
  }
  if (body[0] !== openingBrace || body.at(-1) !== closingBrace) throw new Error(`event ${id} has no JSON object`);
  return [body.subarray(0, -1), end];
}
