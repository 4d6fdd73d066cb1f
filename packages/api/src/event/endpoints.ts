import type { ListEventsResponse } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { z } from 'zod';
import { checkId, defineEndpoint, oneResponse } from '../endpoint.ts';
import { createdRange } from '../field-schemas.ts';
import { flag, pageQuery, pageSizeOf, pageUrl } from '../list.ts';
import { toTimestamp } from '../times.ts';
import { eventDocument, eventJson, eventListJson } from './document.ts';
import { after, eventList, oneEvent } from './schema.ts';

const listQuery = z.strictObject({ after, per_page: pageQuery.per_page });
const listQueryOfUsers = listQuery.extend({
  created_before: createdRange.created_before.describe(
    'Instead of `after`: the page ends with the last event that was created before this time.',
  ),
});

export const listEvents = defineEndpoint<z.infer<typeof listQueryOfUsers>, unknown>({
  method: 'get',
  path: '/v1/events',
  operationId: 'listEvents',
  summary: 'List events',
  description:
    'Returns all events, oldest first, independent of webhooks. Keys without the scope `admin` get only the events about ' +
    'resources, and the sequences of operational events are missing. Sequences have no other gaps and appear in order: a client ' +
    'that repeats the request with `after` set to its last sequence gets every event exactly once. When the service has ' +
    'lost events, for example because its database was restored from a backup, sequences continue 1,000,000 higher; ' +
    'events after such a gap may be repeats, with the same `id`. If older events are ' +
    'no longer stored, the page starts with the oldest stored event, and `oldest_sequence` shows the loss. If `after` is ' +
    'beyond the newest event, the response is 400: that sequence belongs to another environment, or to a time before ' +
    'the database was restored from a backup.',
  tag: 'Events',
  permission: 'events:read',
  query: listQuery,
  queryOfUsers: listQueryOfUsers,
  success: { status: 200, description: 'A page of events.', schema: eventList },
  async handle({ context, query, tenant, backend, url, signal, may }) {
    const { workspaceId, environment } = tenant;
    const { created_before: until, ...links } = query;
    const pageSize = pageSizeOf(query);
    const page = await backend.events.listEvents(
      {
        workspaceId,
        environment,
        ...(until === undefined ? { after: BigInt(query.after ?? 0) } : { until: toTimestamp(until) }),
        pageSize,
        withOperational: may('events:admin'),
      },
      { context: context(), signal: signal() },
    );
    const { meta, next, previous } = pagePositionOf(page, Number(query.after ?? 0), pageSize);
    const link = (after: number | null) => (after === null ? null : pageUrl(url(), { ...links, after }));
    return { status: 200, json: eventListJson(page.events, meta, { next: link(next), prev: link(previous) }) };
  },
});

/**
 * Computes a page's position in the feed, and the `after` values of its neighbors. Gaps count as events: operational
 * events that the caller does not get, and the gap after a restore.
 */
function pagePositionOf(
  { events, oldestPosition, newestPosition, hasMore, previousAfter }: ListEventsResponse,
  after: number,
  pageSize: number,
) {
  const [oldest, newest] = [Number(oldestPosition), Number(newestPosition)];
  // If no events are kept, the feed starts with the next event.
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
    next: hasMore ? end : null,
    previous: previousAfter === undefined ? null : Number(previousAfter),
  };
}

export const getEvent = defineEndpoint<{ request_id?: 'true' | 'false' | undefined } | undefined, unknown>({
  method: 'get',
  path: '/v1/events/{id}',
  operationId: 'getEvent',
  summary: 'Get an event',
  tag: 'Events',
  permission: 'events:read',
  conditional: true,
  queryOfUsers: z.strictObject({ request_id: flag.describe('true: also returns the ID of the request.') }),
  success: { status: 200, description: 'The event, as in the feed.', schema: oneEvent },
  async handle({ context, id, query, tenant, backend, signal, may }) {
    checkId('evt', id);
    const { workspaceId, environment } = tenant;
    const { event } = await backend.events.getEvent(
      { workspaceId, environment, id, withOperational: may('events:admin') },
      { context: context(), signal: signal() },
    );
    if (!event) throw new Error('the webhooks service returned no event');
    if (query?.request_id !== 'true') return oneResponse(200, { json: eventJson(event) });
    return oneResponse(200, { json: JSON.stringify({ ...eventDocument(event), request_id: event.requestId }) });
  },
});

export const eventEndpoints = [listEvents, getEvent];
