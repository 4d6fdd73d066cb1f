import type { Event } from '@rms/api';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useMay, useTenant } from '../../api/tenant.ts';
import { Choice } from '../../ui/field.tsx';
import { TextFilter } from '../../ui/filters.tsx';
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

/** Page with the event feed, or the events of a resource; newest first. */
export function EventsPage() {
  const tenant = useTenant();
  const { resource, cursor, live } = useSearch({ from });
  const navigate = useNavigate({ from });
  const mayReadAll = useMay('events:admin');
  const isLive = live === '1' && !cursor && !resource;
  const feed = useEvents(cursor, { isLive, enabled: !resource });
  const ofResource = useResourceEvents(resource, cursor);
  const { data: page } = feed;
  const { data, error }: { readonly data: readonly ShownEvent[] | undefined; readonly error: unknown } = resource
    ? { data: ofResource.data?.data, error: ofResource.error }
    : { data: page && [...page.data].reverse(), error: feed.error };
  const set = (search: { readonly resource?: string; readonly live?: string }) =>
    void navigate({ search, replace: true });
  return (
    <>
      <PageHeader
        title="Events"
        lead={`Changes of resources${mayReadAll ? ', and operational events,' : ''} in the order of the event feed (GET /v1/events), newest first.`}
      />
      <Card title="Filters">
        <div className="filters">
          <TextFilter
            label="Resource ID"
            value={resource}
            placeholder="res_…"
            onSet={(id) => set(id ? { resource: id } : {})}
          />
          {resource ? (
            <Link to={from} params={tenant} search={{}} className="small">
              Clear filters
            </Link>
          ) : (
            <Choice
              type="checkbox"
              label="Live tail"
              hint={isLive ? 'Updated every 2 s' : 'Show new events automatically'}
              checked={isLive}
              onChange={() => set(isLive ? {} : { live: '1' })}
            />
          )}
        </div>
      </Card>
      <Card flush>
        <ErrorNote error={error} />
        {data ? null : error ? null : <Loading what="events" rows={12} />}
        {data?.length === 0 ? (
          <Empty icon="events" title={resource || cursor ? 'No events on this page' : 'No events yet'}>
            {resource
              ? 'The resource does not exist, or its events are no longer stored.'
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
        {resource && ofResource.data ? <Pager next={ofResource.data.next} /> : null}
        {!resource && page ? (
          <Pager
            total={page.meta.total ?? undefined}
            next={afterOf(page.links.prev)}
            previous={afterOf(page.links.next)}
          />
        ) : null}
      </Card>
    </>
  );
}

/** Returns the sequence before a page of the feed from the page's URL. */
function afterOf(link: string | null): string | null {
  return link === null ? null : new URL(link).searchParams.get('after');
}
