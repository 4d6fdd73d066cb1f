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

/**
 * Queries a page of the feed, oldest first. `after`: sequence before the page; undefined: the page ends with the newest
 * event, and `isLive` polls for newer ones.
 */
export function useEvents(
  after: string | undefined,
  { isLive, enabled }: { readonly isLive: boolean; readonly enabled: boolean },
): Pick<UseQueryResult<EventList>, 'data' | 'error'> {
  const newest = useTenantQuery<EventList, number>('/events', {
    search: { per_page: '1' },
    enabled: enabled && after === undefined,
    everyMs: isLive && tailMs,
    select: ({ meta }) => meta.newest_sequence,
  });
  const start = after ?? (newest.data === undefined ? undefined : String(Math.max(0, newest.data - pageSize)));
  const page = useTenantQuery<EventList>('/events', {
    search: { after: start, per_page: String(pageSize) },
    enabled: enabled && start !== undefined,
    everyMs: isLive && tailMs,
  });
  return { data: page.data, error: newest.error ?? page.error };
}

/** Queries an event. */
export function useEvent(id: string): UseQueryResult<CausedEvent> {
  return useTenantObject(`/events/${encodeURIComponent(id)}`, { search: { request_id: 'true' } });
}
