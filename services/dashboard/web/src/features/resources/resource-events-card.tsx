import { Link, useSearch } from '@tanstack/react-router';
import type { ResourceEventDocument } from '../../../../src/documents/resource-event.ts';
import { useTenant } from '../../api/tenant.ts';
import { CodeBlock } from '../../ui/copy.tsx';
import { Empty, ErrorNote, Loading } from '../../ui/notes.tsx';
import { Card } from '../../ui/page.tsx';
import { Pager } from '../../ui/pager.tsx';
import { Table } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { DeliveryStatusBadge, resultText } from '../attempts/delivery-status.tsx';
import { useMemberEmails } from '../team/member-queries.ts';
import { urlsOf, useWebhooks } from '../webhooks/webhook-queries.ts';
import { useResourceEvents } from './resource-queries.ts';

/** Card with a resource's events and their deliveries. Also works for deleted resources. */
export function ResourceEventsCard({ id }: { readonly id: string }) {
  const { cursor } = useSearch({ from: '/w/$workspace/$environment/resources/$id' });
  const { data, error } = useResourceEvents(id, cursor);
  return (
    <Card title="Events" about="Events of this resource and their deliveries, newest first." flush>
      <ErrorNote error={error} />
      {data ? null : error ? null : <Loading label="Loading events" />}
      {data?.data.length === 0 ? (
        <Empty icon="deliveries" title="No events">
          Every change creates an event, which is retained as long as the delivery log. Reload the page to see the most
          recent changes.
        </Empty>
      ) : null}
      {data && data.data.length > 0 ? (
        <Table
          label="Events of this resource"
          rows={data.data}
          keyOf={(event) => event.id}
          columns={[
            { title: 'Event', cell: (event) => <EventCell of={event} /> },
            { title: 'Version', number: true, cell: (event) => event.version },
            { title: 'Request', cell: (event) => <RequestLink id={event.request_id} /> },
            { title: 'Actor', cell: (event) => <Actor of={event} /> },
            { title: 'Webhooks', cell: (event) => <Deliveries of={event} /> },
            { title: 'Created', cell: (event) => <Time at={event.created_at} /> },
          ]}
        />
      ) : null}
      {data ? <Pager next={data.next} /> : null}
    </Card>
  );
}

function EventCell({ of: { id, type, created_at, data } }: { readonly of: ResourceEventDocument }) {
  const tenant = useTenant();
  return (
    <div className="stack-small">
      <span>{type}</span>
      <Link to="/w/$workspace/$environment/events/$id" params={{ ...tenant, id }} className="small break">
        <code>{id}</code>
      </Link>
      <details>
        <summary className="small">Payload</summary>
        {data === null ? (
          <p className="small soft">Erased with the resource.</p>
        ) : (
          <CodeBlock text={JSON.stringify({ id, type, created_at, data }, null, 2)} label={`Payload of ${id}`} />
        )}
      </details>
    </div>
  );
}

function RequestLink({ id }: { readonly id: string }) {
  const tenant = useTenant();
  return (
    <Link to="/w/$workspace/$environment/requests" params={tenant} search={{ id }} className="small break">
      {id}
    </Link>
  );
}

/** Shows a user by email address, and a key by its ID. */
function Actor({ of: { actor } }: { readonly of: ResourceEventDocument }) {
  const emails = useMemberEmails();
  if (actor === null) return <span className="soft small">unknown</span>;
  return <span className="small break">{emails.get(actor) ?? actor}</span>;
}

function Deliveries({ of: { id, deliveries, has_more_deliveries: hasMore } }: { readonly of: ResourceEventDocument }) {
  const tenant = useTenant();
  const urls = urlsOf(useWebhooks().data);
  if (deliveries.length === 0) return <span className="soft small">no matching webhooks</span>;
  return (
    <ul className="stack-small">
      {deliveries.map((delivery) => (
        <li key={delivery.id} className="row">
          <DeliveryStatusBadge of={delivery} />
          <Link
            to="/w/$workspace/$environment/deliveries/$id"
            params={{ ...tenant, id: delivery.id }}
            className="small break"
          >
            {urls.get(delivery.webhook_id) ?? delivery.webhook_id}
          </Link>
          <span className="small soft">
            {delivery.status === 'skipped' ? 'webhook disabled' : resultText(delivery.last_attempt)}
          </span>
        </li>
      ))}
      {hasMore ? (
        <li>
          <Link to="/w/$workspace/$environment/deliveries" params={tenant} search={{ event: id }} className="small">
            All deliveries of this event
          </Link>
        </li>
      ) : null}
    </ul>
  );
}
