import type { FeedEvent } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { listEnd, listStart } from './list.ts';

const openingBrace = 0x7b;
const closingBrace = 0x7d;

/**
 * The list envelope around events, in UTF-8: each event has the bytes that webhooks get, and `sequence` before its last
 * brace. Nothing is parsed or rendered anew.
 */
export function eventListJson(events: readonly FeedEvent[], ...end: Parameters<typeof listEnd>): Uint8Array {
  const parts: Uint8Array[] = [];
  let text = listStart;
  for (const [i, { id, type, position, body }] of events.entries()) {
    if (i > 0) text += ',';
    if (body.length === 0) {
      text += `{"id":${JSON.stringify(id)},"type":${JSON.stringify(type)},"data":null`;
    } else {
      if (body[0] !== openingBrace || body.at(-1) !== closingBrace)
        throw new Error(`event ${id} came without its object`);
      parts.push(Buffer.from(text), body.subarray(0, -1));
      text = '';
    }
    text += `,"sequence":${position}}`;
  }
  parts.push(Buffer.from(text + listEnd(...end)));
  return Buffer.concat(parts);
}
