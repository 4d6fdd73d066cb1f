import type { Event } from '@rms/api';
import { eventTypes, isOperational } from '@rms/base/webhook-events';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMay, useTenant } from '../../api/tenant.ts';
import { withoutEmpty } from '../../search.ts';
import { SelectField } from '../../ui/field.tsx';
import { LiveTail, TextFilter, TimeRangeFilter } from '../../ui/filters.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card, PageHeader } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { useResourceEvents } from '../resources/resource-queries.ts';
import { useEvents } from './event-queries.ts';
import { EventSubject } from './event-subject.tsx';

const from = '/w/$workspace/$environment/events';

type ShownEvent = Pick<Event, 'id' | 'type' | 'data' | 'sequence'> & {
  readonly created_at?: string | null | undefined;
};

/** Filters of the page, with the names and values of the URL's search parameters. */
type EventFilter = Partial<Record<'type' | 'resource' | 'since' | 'until', string>>;

/** Page with the event feed, or the events of a resource; newest first. */
export function EventsPage() {
  const tenant = useTenant();
  const { cursor, live, ...filter } = useSearch({ from });
  const { resource, type, since, until } = filter;
  const navigate = useNavigate({ from });
  const mayReadAll = useMay('events:admin');
  const isLive = live === '1' && !cursor && !resource && !until;
  const feed = useEvents({ after: cursor, until, isLive, enabled: !resource });
  const ofResource = useResourceEvents(resource, cursor);
  const { data: page } = feed;
  const read: readonly ShownEvent[] | undefined = resource ? ofResource.data?.data : page && [...page.data].reverse();
  const error = resource ? ofResource.error : feed.error;
  const data = read?.filter(
    (event) =>
      (!type || event.type === type) &&
      !(since && event.created_at && Date.parse(event.created_at) < Date.parse(since)) &&
      !(until && event.created_at && Date.parse(event.created_at) >= Date.parse(until)),
  );
  const last = read?.at(-1)?.created_at;
  const isOver = Boolean(since && last && Date.parse(last) < Date.parse(since));
  const older = isOver ? null : resource ? (ofResource.data?.next ?? null) : afterOf(page?.links.prev ?? null);
  const isFiltered = Object.keys(filter).length > 0;
  const set = (changes: EventFilter & { readonly live?: string }) =>
    void navigate({ search: (before) => withoutEmpty({ ...before, cursor: '', ...changes }), replace: true });
  return (
    <>
      <PageHeader
        title="Events"
        lead={`Changes of resources${mayReadAll ? ', and operational events,' : ''} in the order of the event feed (GET /v1/events), newest first.`}
      />
      <EventFilters of={filter} isLive={live === '1'} onSet={set} />
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading label="Loading events" rows={12} />}
        {data?.length === 0 ? (
          <Empty icon="events" title={isFiltered || older ? 'No matching events' : 'No events yet'}>
            {older
              ? 'No event on this page matches. Open the next page, or change the filters.'
              : isFiltered
                ? 'Change the filters.'
                : 'Every change of a resource creates an event, which is retained as long as the delivery log.'}
          </Empty>
        ) : null}
        {data && data.length > 0 ? (
          <Table
            label="Events"
            rows={data}
            keyOf={({ id, sequence }) => `${sequence} ${id}`}
            columns={[
              {
                title: 'Event',
                cell: ({ id, type }) => (
                  <Link
                    to="/w/$workspace/$environment/events/$id"
                    params={{ ...tenant, id }}
                    className="main-link break"
                  >
                    {type}
                  </Link>
                ),
              },
              { title: 'ID', cell: ({ id }) => <code className="small break">{id}</code> },
              { title: 'Object', cell: (event) => <EventSubject of={event} /> },
              { title: 'Sequence', number: true, cell: ({ sequence }) => sequence },
              { title: 'Created', cell: ({ created_at: at }) => <Time at={at ?? null} /> },
            ]}
          />
        ) : null}
        {resource ? <Pager next={older} /> : null}
        {!resource && page ? (
          <Pager total={page.meta.total ?? undefined} next={older} previous={afterOf(page.links.next)} />
        ) : null}
      </Card>
    </>
  );
}

/** Card with the filters and the live tail's switch. */
function EventFilters({
  of: filter,
  isLive,
  onSet,
}: {
  readonly of: EventFilter;
  readonly isLive: boolean;
  readonly onSet: (changes: EventFilter & { readonly live?: string }) => void;
}) {
  const tenant = useTenant();
  const { type, resource } = filter;
  const mayReadAll = useMay('events:admin');
  const types = eventTypes.filter((one) => mayReadAll || !isOperational(one));
  return (
    <Card title="Filters">
      <div className="filters">
        <SelectField
          label="Event type"
          value={type ?? ''}
          options={[['', 'Any type'], ...types.map((one) => [one, one] as const)]}
          onChange={(event) => onSet({ type: event.target.value })}
        />
        <TextFilter label="Resource ID" value={resource} placeholder="res_…" onSet={(id) => onSet({ resource: id })} />
        <TimeRangeFilter of={filter} onSet={onSet} />
        <div className="stack-small">
          <LiveTail
            isLive={isLive}
            hints={{ off: 'Show new events automatically', on: 'Updated every 2 s' }}
            onSet={onSet}
          />
          {Object.keys(filter).length > 0 ? (
            <Link to={from} params={tenant} search={{}} className="small">
              Clear filters
            </Link>
          ) : null}
        </div>
      </div>
    </Card>
  );
}

/** Returns the sequence before a page of the feed from the page's URL. */
function afterOf(link: string | null): string | null {
  return link === null ? null : new URL(link).searchParams.get('after');
}
