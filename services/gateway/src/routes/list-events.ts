import type { ListEventsResponse } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { z } from 'zod';
import { defineEndpoint } from './endpoint.ts';
import { eventListJson } from './event-json.ts';
import { after, eventList } from './event-schemas.ts';
import { pageQuery, pageSizeOf, pageUrl } from './list.ts';

const path = '/v1/events';

export const listEvents = defineEndpoint({
  method: 'get',
  path,
  operationId: 'listEvents',
  summary: 'List events',
  description:
    'Every event, oldest first, whether or not a webhook wants it. Sequences have no gaps and appear in their order: who ' +
    'asks again and again `after` the last one misses nothing, and sees each event once. Where older events are no ' +
    'longer kept, the page begins with the oldest one, and its sequence tells the loss. Beyond the newest event is a 400: ' +
    'that sequence is of another environment, or of before a database was restored.',
  tag: 'Events',
  scope: 'read',
  query: z.strictObject({ after, per_page: pageQuery.per_page }),
  success: { status: 200, description: 'A page of events.', schema: eventList },
  async handle({ context, query, principal, backend, baseUrl, signal }) {
    const { workspaceId, environment } = principal;
    const pageSize = pageSizeOf(query);
    const page = await backend.events.listEvents(
      { workspaceId, environment, after: BigInt(query.after ?? 0), pageSize },
      { context: context(), signal: signal() },
    );
    const { meta, next, previous } = placeOf(page, Number(query.after ?? 0), pageSize);
    const link = (after: number | null) => (after === null ? null : pageUrl(baseUrl() + path, { ...query, after }));
    return { status: 200, json: eventListJson(page.events, meta, { next: link(next), prev: link(previous) }) };
  },
});

/** Where a page is in its feed, and after which sequences the pages beside it begin; without gaps that is arithmetic. */
function placeOf({ events, oldestPosition, newestPosition }: ListEventsResponse, after: number, pageSize: number) {
  const [oldest, newest] = [Number(oldestPosition), Number(newestPosition)];
  // Where nothing is kept, the next event will be the first.
  const start = (oldest || newest + 1) - 1;
  const begin = Math.max(after, start);
  const end = Number(events.at(-1)?.position ?? newest);
  return {
    meta: {
      total: newest - start,
      page: Math.ceil((begin - start) / pageSize) + 1,
      per_page: pageSize,
      oldest_sequence: oldest,
      newest_sequence: newest,
    },
    next: end < newest ? end : null,
    previous: begin > start ? Math.max(begin - pageSize, start) : null,
  };
}
