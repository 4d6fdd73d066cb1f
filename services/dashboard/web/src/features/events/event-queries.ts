import type { Event } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import { type List, useTenantObject, useTenantQuery } from '../../api/tenant.ts';

interface EventList extends List<Event> {
  readonly meta: List<Event>['meta'] & { readonly newest_sequence: number };
}

/** An event with the request that caused it. */
type CausedEvent = Event & { readonly request_id: string };

const pageSize = 50;
/** Interval of the live tail. */
const tailMs = 2_000;

/** A page of the feed. */
interface EventPage {
  /** Sequence before the page. */
  readonly after?: string | undefined;
  /** Time (ISO 8601) at which the page ends, without `after`. Undefined: the page ends with the newest event. */
  readonly until?: string | undefined;
  /** Polls for newer events. */
  readonly isLive: boolean;
  readonly enabled: boolean;
}

/** Queries a page of the feed, oldest first. */
export function useEvents({
  after,
  until,
  isLive,
  enabled,
}: EventPage): Pick<UseQueryResult<EventList>, 'data' | 'error'> {
  const isNewest = after === undefined && until === undefined;
  const newest = useTenantQuery<EventList, number>('/events', {
    search: { per_page: '1' },
    enabled: enabled && isNewest,
    everyMs: isLive && tailMs,
    select: ({ meta }) => meta.newest_sequence,
  });
  const beforeNewest = newest.data === undefined ? undefined : String(Math.max(0, newest.data - pageSize));
  const start = isNewest ? beforeNewest : after;
  const page = useTenantQuery<EventList>('/events', {
    search: { ...(start === undefined ? { created_before: until } : { after: start }), per_page: String(pageSize) },
    enabled: enabled && (start !== undefined || until !== undefined),
    everyMs: isLive && tailMs,
  });
  return { data: page.data, error: newest.error ?? page.error };
}

/** Queries an event. */
export function useEvent(id: string): UseQueryResult<CausedEvent> {
  return useTenantObject(`/events/${encodeURIComponent(id)}`, { search: { request_id: 'true' } });
}
